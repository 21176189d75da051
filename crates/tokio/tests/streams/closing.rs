//! The end of a stream over sockets: what was written arrives although the peer's data is unread.

use std::time::Duration;

use tercel::closing::{MAX_DRAIN_TIME, MAX_DRAINED_BYTES};
use tercel::wire::ProtocolVersion;
use tercel_tokio::TlsStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, copy_bidirectional, duplex, split};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{VERSIONS, client, join, loopback_pair, pair, pattern, server};

/// Reads slowly until the end, so that the writer ends while data is in transit.
async fn read_slowly(stream: &mut TlsStream<TcpStream>) -> std::io::Result<Vec<u8>> {
    let (mut all, mut part) = (Vec::new(), vec![0; 128 * 1024]);
    loop {
        match stream.read(&mut part).await? {
            0 => return Ok(all),
            count => all.extend_from_slice(&part[..count]),
        }
        sleep(Duration::from_millis(1)).await;
    }
}

/// The tickets of the server stay unread in the client's socket.
#[tokio::test]
async fn an_upload_arrives_although_the_tickets_are_unread() {
    let data = pattern(8 << 20);
    let (mut client, mut server) = loopback_pair(ProtocolVersion::TLS1_3).await;
    let upload = async {
        client.write_all(&data).await.unwrap();
        client.close().await.unwrap();
        drop(client);
    };
    let serve = async {
        let received = read_slowly(&mut server).await;
        drop(server);
        received
    };
    let ((), received) = tokio::join!(upload, serve);
    assert!(received.unwrap() == data);
}

#[tokio::test]
async fn an_answer_arrives_although_requests_are_unread() {
    for version in VERSIONS {
        for shutdown in [false, true] {
            let answer = pattern(1 << 20);
            let (mut client, mut server) = loopback_pair(version).await;
            client.write_all(&[7; 64 * 1024]).await.unwrap();
            let serve = async {
                server.read_exact(&mut [0; 100]).await.unwrap();
                server.write_all(&answer).await.unwrap();
                if shutdown {
                    server.set_shutdown_waits(true);
                    server.shutdown().await.unwrap();
                } else {
                    server.close().await.unwrap();
                }
                drop(server);
            };
            let receive = async {
                let received = read_slowly(&mut client).await;
                drop(client);
                received
            };
            let ((), received) = tokio::join!(serve, receive);
            assert!(received.unwrap() == answer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_never_closes_is_waited_for_until_the_limit() {
    for version in VERSIONS {
        let (mut near, mut far) = pair(version, 1 << 16).await;
        far.write_all(b"unread").await.unwrap();
        let start = Instant::now();
        near.close().await.unwrap();
        let waited = start.elapsed();
        assert!((MAX_DRAIN_TIME..MAX_DRAIN_TIME * 2).contains(&waited), "{waited:?}");
        // A repetition does not wait again, and the discarded data is not a silent gap.
        near.close().await.unwrap();
        assert_eq!(start.elapsed(), waited);
        let error = near.read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    }
}

#[tokio::test]
async fn a_peer_that_sends_forever_is_read_until_the_limit() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
    let flood = tokio::spawn(async move {
        let mut sent = 0;
        while far.write_all(&[7; 4096]).await.is_ok() {
            sent += 4096;
        }
        sent
    });
    timeout(Duration::from_secs(60), near.close()).await.unwrap().unwrap();
    drop(near);
    let sent = flood.await.unwrap();
    assert!((1..=MAX_DRAINED_BYTES + (1 << 18)).contains(&sent), "{sent}");
}

#[tokio::test]
async fn data_can_be_read_after_close_now() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
    near.close_now().await.unwrap();
    far.write_all(b"late").await.unwrap();
    far.close_now().await.unwrap();
    let mut late = Vec::new();
    near.read_to_end(&mut late).await.unwrap();
    assert_eq!(late, b"late");
    near.close().await.unwrap();
}

/// A peer that sends only once it has read the end of this side's data, as a server does that gets
/// a whole upload first.
async fn answer_after_the_end(mut far: TlsStream<DuplexStream>) {
    far.read_to_end(&mut Vec::new()).await.unwrap();
    far.write_all(b"late").await.unwrap();
    far.close_now().await.unwrap();
}

/// A shutdown is the end of one direction for a tunnel, such as an upgraded connection of HTTP.
#[tokio::test]
async fn a_tunnel_loses_no_data_by_a_shutdown_that_waits() {
    let (mut near, far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
    near.set_shutdown_waits(true);
    let (mut end, mut user) = duplex(1 << 16);
    let tunnel = tokio::spawn(async move { copy_bidirectional(&mut near, &mut end).await });
    let far = tokio::spawn(answer_after_the_end(far));
    user.shutdown().await.unwrap();
    let mut late = Vec::new();
    user.read_to_end(&mut late).await.unwrap();
    assert_eq!(late, b"late");
    far.await.unwrap();
    tunnel.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn data_that_arrives_during_a_shutdown_is_kept() {
    for arrives_first in [false, true] {
        let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
        near.set_shutdown_waits(true);
        if arrives_first {
            far.write_all(b"early ").await.unwrap();
        }
        let far = tokio::spawn(answer_after_the_end(far));
        near.shutdown().await.unwrap();
        let mut all = Vec::new();
        near.read_to_end(&mut all).await.unwrap();
        let expected = if arrives_first { b"early late".as_slice() } else { b"late" };
        assert_eq!(all, expected);
        far.await.unwrap();
        // A close gives up what was not read.
        near.close().await.unwrap();
        let error = near.read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    }
}

/// The task that reads is woken although the transport wakes the task that shuts down.
#[tokio::test(start_paused = true)]
async fn another_task_reads_during_and_after_a_shutdown_that_waits() {
    for pause in [MAX_DRAIN_TIME / 2, MAX_DRAIN_TIME * 2] {
        let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
        near.set_shutdown_waits(true);
        let (mut reader, mut writer) = split(near);
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).await.map(|_| all)
        });
        let far = tokio::spawn(async move {
            far.read_to_end(&mut Vec::new()).await.unwrap();
            sleep(pause).await;
            far.write_all(b"late").await.unwrap();
            far.close_now().await.unwrap();
        });
        // The reader waits first.
        sleep(Duration::from_millis(1)).await;
        writer.shutdown().await.unwrap();
        let all = timeout(Duration::from_secs(60), reading).await.expect("the reader is woken");
        assert_eq!(all.unwrap().unwrap(), b"late");
        far.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_waits_keeps_a_limited_amount() {
    let (mut near, mut far) = pair(ProtocolVersion::TLS1_3, 1 << 16).await;
    near.set_shutdown_waits(true);
    let flood = tokio::spawn(async move { far.write_all(&pattern(8 << 20)).await });
    near.shutdown().await.unwrap();
    drop(near);
    assert!(flood.await.unwrap().is_err(), "all was kept");
}

#[tokio::test]
async fn received_bytes_without_a_read_are_known() {
    let (near, far) = duplex(1 << 16);
    let (client, server) = (client().build().unwrap(), server().build().unwrap());
    let (mut near, mut far) = join((near, far), client, server).await;
    assert_eq!(near.read(&mut [0; 0]).await.unwrap(), 0);
    far.write_all(b"two").await.unwrap();
    near.read_exact(&mut [0; 1]).await.unwrap();
    assert!(near.has_unread(), "plaintext");
    near.read_exact(&mut [0; 2]).await.unwrap();
    assert!(!near.has_unread());
    far.transport_mut().write_all(&[23, 3, 3]).await.unwrap();
    let read = timeout(Duration::from_millis(10), near.read(&mut [0; 1])).await;
    assert!(read.is_err() && near.has_unread(), "the header of a record");
}

/// The limits are promised by the documents.
#[test]
fn limits_of_a_close() {
    assert_eq!((MAX_DRAINED_BYTES, MAX_DRAIN_TIME), (1 << 20, Duration::from_secs(2)));
}
