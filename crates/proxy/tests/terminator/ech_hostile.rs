//! The front of split mode between hostile clients and backends.

use tercel::ech::{ConfigList, Offer};
use tercel::{Handshake, ReceiveBuffer};
use tercel_proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::ech::{PUBLIC, SECRET, add_key, folder, front};
use crate::support::{LIMIT, backend, client, metric, recording_backend, wait_until};

/// A ClientHello that is encrypted to this configuration.
fn encrypted_hello(configs: &ConfigList) -> Vec<u8> {
    let handshake = Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
    let mut handshake = handshake.with_ech(Offer::Configs(configs.clone()));
    let mut out = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    out
}

/// The beginning of a HelloRetryRequest, for which the front waits for a second ClientHello.
fn retry() -> Vec<u8> {
    // RFC 9846 4.2.3
    let random = hex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c");
    [&[22, 3, 3, 0, 80, 2, 0, 0, 76, 3, 3], &random[..], &[0; 42]].concat()
}

fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn timed_out(proxy: &Proxy) -> u64 {
    metric(proxy, "tercel_handshake_failures_total{reason=\"timed_out\",alert=\"none\"}")
}

/// Neither a client nor a backend can keep a connection beyond the time of the handshake with
/// data that the front relays between both ClientHellos, even if the other side does not read.
#[tokio::test]
async fn floods_between_the_hellos_end_in_time() {
    let folder = folder(&[]);
    let configs = add_key(&folder, "1", PUBLIC);
    for backend_floods in [false, true] {
        let to = backend(move |mut transport| async move {
            let _ = transport.write_all(&retry()).await;
            let data = [&[22, 3, 3, 64, 0][..], &[0; 16_384]].concat();
            while backend_floods && transport.write_all(&data).await.is_ok() {}
            std::future::pending::<()>().await;
        })
        .await;
        let proxy = front(&folder, to, "[timeouts]\nhandshake = 1.5");
        let mut stream = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
        stream.write_all(&encrypted_hello(&configs)).await.unwrap();
        stream.read_exact(&mut [0; 85]).await.unwrap();
        let data = [&[23, 3, 3, 64, 0][..], &[0; 16_384]].concat();
        let flood = async { while !backend_floods && stream.write_all(&data).await.is_ok() {} };
        timeout(LIMIT, flood).await.unwrap();
        wait_until("the connection is closed", || proxy.connections() == 0).await;
        assert_eq!(timed_out(&proxy), 1);
    }
}

/// The end of one direction is relayed before the answer of the backend is known.
#[tokio::test]
async fn either_side_may_end_first() {
    let folder = folder(&[]);
    let configs = add_key(&folder, "1", PUBLIC);
    let (to, mut events) = recording_backend().await;
    let proxy = front(&folder, to, "");
    let mut stream = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    stream.write_all(&encrypted_hello(&configs)).await.unwrap();
    stream.shutdown().await.unwrap();
    let received = timeout(LIMIT, events.recv()).await.unwrap().unwrap();
    assert!(received.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

/// A backend that asks for a second ClientHello, and ends, does not get it encrypted.
/// RFC 9849 7.1.1
#[tokio::test]
async fn a_second_hello_is_not_relayed_encrypted() {
    let folder = folder(&[]);
    let configs = add_key(&folder, "1", PUBLIC);
    let (sender, mut events) = mpsc::unbounded_channel();
    let to = backend(move |mut transport| {
        let sender = sender.clone();
        async move {
            let _ = transport.write_all(&retry()).await;
            let _ = transport.shutdown().await;
            let mut all = Vec::new();
            // The front may reset the connection.
            let _ = transport.read_to_end(&mut all).await;
            sender.send(all).unwrap();
        }
    })
    .await;
    let proxy = front(&folder, to, "");
    let hello = encrypted_hello(&configs);
    let mut stream = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    stream.write_all(&hello).await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LIMIT, stream.read_to_end(&mut answer)).await.unwrap();
    // Any ClientHello that is encrypted to the public name.
    let _ = stream.write_all(&hello).await;
    let _ = stream.shutdown().await;
    let received = timeout(LIMIT, events.recv()).await.unwrap().unwrap();
    let outer = received.windows(PUBLIC.len()).any(|part| part == PUBLIC.as_bytes());
    assert!(!outer, "the backend received an outer ClientHello");
}
