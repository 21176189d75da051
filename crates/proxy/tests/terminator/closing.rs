//! Forwarding of the end of one side of a connection to the other side. RFC 9846 6.1

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use socket2::SockRef;
use tercel_tokio::TlsStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::support::{
    Folder, LIMIT, VERSIONS, backend, client, connect, echo, echoed, exchange, metric,
    unused_address, wait_until,
};

#[tokio::test]
async fn close_notify_and_fin_are_translated() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    for version in VERSIONS {
        let mut stream = connect(&proxy, "a.example", client().versions(&[version])).await.unwrap();
        assert_eq!(echoed(&mut stream, b"hello").await, b"hello");
        // An end without close_notify would be an error here.
        assert_eq!(exchange(&mut stream, b"").await.unwrap(), b"");
    }
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

#[tokio::test]
async fn client_can_send_after_the_backend_has_closed_its_side() {
    let folder = Folder::new(&["a.example"]);
    let (sender, mut events) = mpsc::unbounded_channel();
    let to = backend(move |mut transport| {
        let sender = sender.clone();
        async move {
            transport.write_all(b"enough").await.unwrap();
            transport.shutdown().await.unwrap();
            let mut rest = Vec::new();
            transport.read_to_end(&mut rest).await.unwrap();
            sender.send(rest).unwrap();
        }
    })
    .await;
    let proxy = folder.start(&format!("to = \"{to}\""));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"enough");
    stream.write_all(b"and this").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(events.recv().await.unwrap(), b"and this");
}

/// The backend stops reading early, like a backend that rejects a request because of its head.
#[tokio::test]
async fn answer_of_a_backend_that_stops_reading_reaches_the_client() {
    const ANSWER: usize = 400_000;
    let folder = Folder::new(&["a.example"]);
    let to = backend(|mut transport| async move {
        transport.read_exact(&mut [0; 10]).await.unwrap();
        transport.write_all(&[7; ANSWER]).await.unwrap();
        // Waits, because closing with unread data would discard data in transit.
        tokio::time::sleep(Duration::from_millis(100)).await;
    })
    .await;
    let proxy = folder.start(&format!("to = \"{to}\""));
    for version in VERSIONS {
        let stream = connect(&proxy, "a.example", client().versions(&[version])).await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(stream);
        let sending = tokio::spawn(async move {
            // The client sends for much longer than the backend exists.
            for _ in 0..500 {
                writer.write_all(&[7; 10_000]).await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            io::Result::Ok(())
        });
        // The client reads late, so that part of the answer is still in the proxy when the backend
        // has closed.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let mut answer = Vec::new();
        let end = reader.read_to_end(&mut answer).await.unwrap_err();
        assert_eq!((answer.len(), end.kind()), (ANSWER, io::ErrorKind::UnexpectedEof));
        sending.abort();
    }
}

/// How a connection ended for a backend that only reads, and the bytes that the backend read.
type Ended = (Result<(), io::ErrorKind>, Vec<u8>);

async fn reader() -> (SocketAddr, mpsc::UnboundedReceiver<Ended>) {
    let (sender, events) = mpsc::unbounded_channel();
    let to = backend(move |mut transport| {
        let sender = sender.clone();
        async move {
            let mut all = Vec::new();
            let ended = transport.read_to_end(&mut all).await;
            sender.send((ended.map(drop).map_err(|error| error.kind()), all)).unwrap();
        }
    })
    .await;
    (to, events)
}

/// Closes or resets the client's transport without close_notify.
fn cut(stream: TlsStream<TcpStream>, resets: bool) {
    let socket = SockRef::from(stream.transport());
    if resets {
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    } else {
        socket.shutdown(std::net::Shutdown::Both).unwrap();
    }
    drop(stream);
}

#[tokio::test]
async fn client_truncation_follows_on_truncation_of_its_route() {
    const RESET: Result<(), io::ErrorKind> = Err(io::ErrorKind::ConnectionReset);
    let folder = Folder::new(&["a.example"]);
    for (said, alpn, expected) in [
        ("", "", RESET),
        ("", "smtp", RESET),
        // HTTP messages have their own end, so a missing close_notify is not an error.
        ("", "h2", Ok(())),
        ("", "http/1.1", Ok(())),
        ("on_truncation = \"auto\"", "http/1.1", Ok(())),
        ("on_truncation = \"reset\"", "http/1.1", RESET),
        ("on_truncation = \"close\"", "smtp", Ok(())),
    ] {
        let (to, mut events) = reader().await;
        let proxy = folder
            .start(&format!("to = \"{to}\"\nalpn = [\"h2\", \"http/1.1\", \"smtp\"]\n{said}\n"));
        for (version, resets) in VERSIONS.into_iter().zip([true, false]) {
            let client = client().versions(&[version]);
            let client = if alpn.is_empty() { client } else { client.alpn(&[alpn]) };
            let mut stream = connect(&proxy, "a.example", client).await.unwrap();
            stream.write_all(b"half a").await.unwrap();
            // Waits for the data, because a reset may overtake it.
            let received = "tercel_client_received_bytes_total";
            let before = if resets { 0 } else { 6 };
            wait_until("the data has arrived", || metric(&proxy, received) == before + 6).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            cut(stream, resets);
            let (ended, read) = events.recv().await.unwrap();
            assert_eq!(ended, expected, "{said} {alpn} {version:?} {resets}");
            assert!(ended.is_err() || read == b"half a");
        }
    }
}

#[tokio::test]
async fn decryption_failure_resets_the_backend_on_every_route() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = reader().await;
    let proxy = folder.start(&format!("to = \"{to}\"\non_truncation = \"close\"\n"));
    for version in VERSIONS {
        let client = client().versions(&[version]);
        let mut stream = connect(&proxy, "a.example", client).await.unwrap();
        stream.write_all(b"half a").await.unwrap();
        let forged = [[23, 3, 3, 0, 35].as_slice(), &[7; 35]].concat();
        assert_eq!(stream.transport().try_write(&forged).unwrap(), forged.len());
        let (ended, _) = events.recv().await.unwrap();
        assert_eq!(ended, Err(io::ErrorKind::ConnectionReset), "{version:?}");
    }
}

#[tokio::test]
async fn backend_reset_sends_the_client_no_close_notify() {
    let folder = Folder::new(&["a.example"]);
    let to = backend(|mut transport| async move {
        transport.write_all(b"half an").await.unwrap();
        transport.read_exact(&mut [0]).await.unwrap();
        SockRef::from(&transport).set_linger(Some(Duration::ZERO)).unwrap();
    })
    .await;
    let proxy = folder.start(&format!("to = \"{to}\""));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    let mut received = [0; 7];
    stream.read_exact(&mut received).await.unwrap();
    stream.write_all(b"x").await.unwrap();
    assert!(stream.read(&mut received).await.is_err(), "a clean close");
    let reset = "tercel_backend_failures_total{reason=\"reset\"}";
    wait_until("the event is counted", || metric(&proxy, reset) == 1).await;
}

#[tokio::test]
async fn unreachable_backend_sends_the_client_close_notify() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", unused_address().await));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(stream.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(metric(&proxy, "tercel_backend_failures_total{reason=\"none_left\"}"), 1);
}

/// The first data of a client that cannot be forwarded: the request is not read.
#[tokio::test]
async fn client_that_never_closes_is_left_after_a_close() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", unused_address().await));
    for version in VERSIONS {
        let client = client().versions(&[version]);
        let mut stream = connect(&proxy, "a.example", client).await.unwrap();
        // The terminator may have left already, on a busy machine.
        let _ = stream.write_all(&[7; 100_000]).await;
        wait_until("the connection is left", || proxy.connections() == 0).await;
    }
}

#[tokio::test]
async fn client_that_sends_without_end_is_cut_off_after_a_close() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", unused_address().await));
    for version in VERSIONS {
        let client = client().versions(&[version]);
        let mut stream = connect(&proxy, "a.example", client).await.unwrap();
        let sending = async { while stream.write_all(&[7; 16 * 1024]).await.is_ok() {} };
        timeout(LIMIT, sending).await.expect("the client is still read");
        wait_until("the connection is left", || proxy.connections() == 0).await;
    }
}

#[tokio::test]
async fn idle_timeout_sends_close_notify_between_requests() {
    let folder = Folder::new(&["a.example"]);
    const IDLE: Duration = Duration::from_millis(300);
    let more = format!("to = \"{}\"\nalpn = \"h2\"\n[timeouts]\nidle = 0.3", echo().await);
    let proxy = folder.start(&more);
    let started = Instant::now();
    let mut silent = connect(&proxy, "a.example", client().alpn(&["h2"])).await.unwrap();
    assert_eq!(timeout(LIMIT, silent.read(&mut [0; 10])).await.unwrap().unwrap(), 0);
    assert!(started.elapsed() >= IDLE, "{:?}", started.elapsed());
    // Each exchange begins the time again.
    let mut stream = loop {
        let mut stream = connect(&proxy, "a.example", client().alpn(&["h2"])).await.unwrap();
        if speaks_for_longer_than(IDLE, &mut stream).await {
            break stream;
        }
    };
    assert_eq!(timeout(LIMIT, stream.read(&mut [0; 10])).await.unwrap().unwrap(), 0);
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

/// Exchanges data in shorter intervals, altogether for longer. Returns false if this task was
/// suspended for so long that the connection had to end.
async fn speaks_for_longer_than(idle: Duration, stream: &mut TlsStream<TcpStream>) -> bool {
    let mut last = Instant::now();
    for _ in 0..4 {
        let before = Instant::now();
        let mut received = [0; 5];
        let exchanged = async {
            stream.write_all(b"hello").await?;
            stream.read_exact(&mut received).await
        };
        if let Err(error) = timeout(LIMIT, exchanged).await.unwrap() {
            assert!(last.elapsed() >= idle, "{error} after {:?}", last.elapsed());
            return false;
        }
        last = before;
        tokio::time::sleep(idle / 2).await;
    }
    true
}

#[tokio::test]
async fn half_closed_connection_times_out() {
    let folder = Folder::new(&["a.example"]);
    let to = backend(|mut transport| async move {
        let _ = transport.read_to_end(&mut Vec::new()).await;
        std::future::pending::<()>().await;
    })
    .await;
    let proxy = folder.start(&format!("to = \"{to}\"\n[timeouts]\nhalf_closed = 0.3"));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    let answer = timeout(LIMIT, exchange(&mut stream, b"x")).await;
    // The backend closed in the middle of its answer.
    assert!(answer.unwrap().is_err(), "a clean close");
}

/// On a Unix socket, a backend can stop reading without closing.
#[tokio::test]
async fn half_closed_timeout_applies_to_a_backend_that_stops_reading() {
    let folder = Folder::new(&["a.example"]);
    let path = folder.path("backend");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        let (mut transport, _) = listener.accept().await.unwrap();
        transport.read_exact(&mut [0; 10]).await.unwrap();
        SockRef::from(&transport).shutdown(Shutdown::Read).unwrap();
        transport.write_all(b"no").await.unwrap();
        std::future::pending::<()>().await;
    });
    let to = path.display();
    let proxy = folder.start(&format!("to = \"unix:{to}\"\n[timeouts]\nhalf_closed = 0.3"));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    stream.write_all(&[7; 10]).await.unwrap();
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"no");
    stream.write_all(b"more").await.unwrap();
    let ended = timeout(LIMIT, stream.read(&mut answer)).await;
    assert!(ended.unwrap().is_err(), "a clean close");
}

/// An attacker on the path can cause an idle timeout by withholding data.
#[tokio::test]
async fn idle_timeout_is_not_a_clean_close() {
    let folder = Folder::new(&["a.example"]);
    for alpn in ["", "http/1.1"] {
        let (to, mut events) = reader().await;
        let more = "alpn = \"http/1.1\"\n[timeouts]\nidle = 1";
        let proxy = folder.start(&format!("to = \"{to}\"\n{more}"));
        let client = if alpn.is_empty() { client() } else { client().alpn(&[alpn]) };
        let mut stream = connect(&proxy, "a.example", client).await.unwrap();
        stream.write_all(b"half a").await.unwrap();
        let ended = timeout(LIMIT, stream.read(&mut [0; 10])).await;
        assert!(ended.unwrap().is_err(), "{alpn}: a clean close for the client");
        let (ended, _) = events.recv().await.unwrap();
        assert_eq!(ended, Err(io::ErrorKind::ConnectionReset), "{alpn}");
    }
}

#[tokio::test]
async fn client_that_closes_before_its_first_byte_gets_close_notify() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"\nalpn = \"h2\"", unused_address().await));
    for version in VERSIONS {
        let client = client().versions(&[version]).alpn(&["h2"]);
        let mut stream = connect(&proxy, "a.example", client).await.unwrap();
        assert_eq!(exchange(&mut stream, b"").await.unwrap(), b"", "{version:?}");
    }
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

#[tokio::test]
async fn handshake_times_out() {
    let folder = Folder::new(&["a.example"]);
    let to = echo().await;
    let proxy = folder.start(&format!("to = \"{to}\"\n[timeouts]\nhandshake = 0.3"));
    let mut silent = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    let ended = timeout(LIMIT, silent.read(&mut [0; 10])).await;
    assert!(matches!(ended.unwrap(), Ok(0) | Err(_)));
    wait_until("the connection is closed", || proxy.connections() == 0).await;
    let failed = proxy.metrics().render();
    assert!(failed.contains("timed_out"), "{failed}");
}
