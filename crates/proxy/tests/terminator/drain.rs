//! Drain: requests in progress are finished, idle connections are closed, and new connections are
//! refused.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tercel::ClientConfig;
use tercel::wire::ProtocolVersion;
use tercel_proxy::Proxy;
use tercel_tokio::{Connector, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, copy, duplex, split};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::support::{
    Folder, LIMIT, VERSIONS, backend, client, client_hello, connect, connect_with, echo, echoed,
    exchange, wait_for_end, wait_until, wait_until_closed,
};

#[tokio::test]
async fn drain_finishes_connections_and_refuses_new_ones() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(echoed(&mut stream, b"before").await, b"before");
    proxy.drain();
    wait_until_closed(proxy.addresses()[0]).await;
    assert_eq!(echoed(&mut stream, b"after").await, b"after");
    assert_eq!(exchange(&mut stream, b"last").await.unwrap(), b"last");
    wait_for_end(proxy).await;
}

/// A backend that answers each request with its bytes, those that begin with `w` only when the
/// sender is set to `true`.
async fn gated_echo(gate: watch::Receiver<bool>) -> SocketAddr {
    backend(move |mut transport| {
        let mut gate = gate.clone();
        async move {
            let mut request = [0; 100];
            while let Ok(count @ 1..) = transport.read(&mut request).await {
                if request[0] == b'w' {
                    gate.wait_for(|open| *open).await.unwrap();
                }
                transport.write_all(&request[..count]).await.unwrap();
            }
        }
    })
    .await
}

/// Each state in which a drain can find a connection: no client that has connected before is left
/// without an answer. Idle connections may be closed, but not before a request is read that has
/// arrived. RFC 9112 9.3.1, RFC 9113 9.1
#[tokio::test]
async fn every_state_of_a_connection_gets_its_answer_in_a_drain() {
    let folder = Folder::new(&["a.example"]);
    for (when, version) in
        [("first-byte", VERSIONS[0]), ("first-byte", VERSIONS[1]), ("at-once", VERSIONS[1])]
    {
        let (open, gate) = watch::channel(false);
        let proxy = crate::support::start(&format!(
            "workers = 1\ndrain = 60\n{}alpn = \"http/1.1\"\nto = \"{}\"\nconnect = \"{when}\"",
            folder.listener(),
            gated_echo(gate).await
        ));
        let settings = client().alpn(&["http/1.1"]).versions(&[version]).build().unwrap();
        let connect = || connect_with(&proxy, "a.example", settings.clone());
        let tcp = || TcpStream::connect(proxy.addresses()[0]);
        let mut before_first_byte = connect().await.unwrap();
        let mut idle = connect().await.unwrap();
        assert_eq!(echoed(&mut idle, b"one").await, b"one");
        let mut busy = connect().await.unwrap();
        busy.write_all(b"wait").await.unwrap();
        let mut half_closed = connect().await.unwrap();
        half_closed.write_all(b"wait").await.unwrap();
        if version == ProtocolVersion::TLS1_3 {
            half_closed.shutdown().await.unwrap();
        }
        let mut in_handshake = tcp().await.unwrap();
        let hello = client_hello("a.example");
        in_handshake.write_all(&hello).await.unwrap();
        let queued = tcp().await.unwrap();
        proxy.drain();
        wait_until_closed(proxy.addresses()[0]).await;

        assert_eq!(echoed(&mut before_first_byte, b"first").await, b"first", "{when}");
        assert_eq!(echoed(&mut idle, b"two").await, b"two");
        // The server's first flight has been sent, and an alert ends this handshake.
        assert!(in_handshake.read_u8().await.is_ok());
        drop(in_handshake);
        let connector = Connector::new(settings.clone());
        let name = "a.example".try_into().unwrap();
        let mut queued = connector.connect(name, queued).await.unwrap();
        assert_eq!(echoed(&mut queued, b"queued").await, b"queued");
        open.send_replace(true);
        for mut waiting in [busy, half_closed] {
            let mut answer = [0; 4];
            waiting.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"wait");
        }
        drop((before_first_byte, idle, queued));
        wait_for_end(proxy).await;
    }
}

#[tokio::test]
async fn drain_closes_idle_http_connections() {
    let folder = Folder::new(&["a.example"]);
    let proxy = crate::support::start(&format!(
        "workers = 1\ndrain = 12\n{}alpn = \"http/1.1\"\nto = \"{}\"\n[timeouts]\npark = 0.4",
        folder.listener(),
        echo().await
    ));
    let http = || client().alpn(&["http/1.1"]);
    let mut silent = connect(&proxy, "a.example", http()).await.unwrap();
    let mut idle = connect(&proxy, "a.example", http()).await.unwrap();
    assert_eq!(echoed(&mut idle, b"request").await, b"request");
    wait_until("both are connected", || proxy.connections() == 2).await;
    proxy.drain();
    for stream in [&mut silent, &mut idle] {
        assert_eq!(timeout(LIMIT, stream.read(&mut [0; 10])).await.unwrap().unwrap(), 0);
    }
    drop((silent, idle));
    wait_for_end(proxy).await;
}

/// A client of which only the first bytes of a record arrive while the gate is closed.
async fn connect_through(
    mut gate: watch::Receiver<bool>,
    proxy: &Proxy,
    settings: Arc<ClientConfig>,
) -> TlsStream<DuplexStream> {
    let (near, far) = duplex(1 << 16);
    let transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    tokio::spawn(async move {
        let (mut from_client, mut to_client) = split(far);
        let (mut from_proxy, mut to_proxy) = transport.into_split();
        let down = async {
            let _ = copy(&mut from_proxy, &mut to_client).await;
            to_client.shutdown().await
        };
        let up = async {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from_client.read(&mut piece).await {
                let first = if *gate.borrow() { count } else { 3 };
                to_proxy.write_all(&piece[..first]).await?;
                gate.wait_for(|open| *open).await.unwrap();
                to_proxy.write_all(&piece[first..count]).await?;
            }
            to_proxy.shutdown().await
        };
        tokio::join!(up, down)
    });
    Connector::new(settings).connect("a.example".try_into().unwrap(), near).await.unwrap()
}

#[tokio::test]
async fn request_of_which_a_part_has_arrived_is_answered_in_a_drain() {
    let folder = Folder::new(&["a.example"]);
    let proxy = crate::support::start(&format!(
        "workers = 1\ndrain = 12\n{}alpn = \"http/1.1\"\nto = \"{}\"\n[timeouts]\npark = 0.4",
        folder.listener(),
        echo().await
    ));
    let settings = client().alpn(&["http/1.1"]).build().unwrap();
    let (gate, opened) = watch::channel(true);
    let mut before_first_byte = connect_through(opened.clone(), &proxy, settings.clone()).await;
    let mut between_requests = connect_through(opened, &proxy, settings.clone()).await;
    between_requests.write_all(b"one").await.unwrap();
    between_requests.read_exact(&mut [0; 3]).await.unwrap();
    let mut idle = connect_with(&proxy, "a.example", settings).await.unwrap();
    assert_eq!(echoed(&mut idle, b"one").await, b"one");
    gate.send_replace(false);
    before_first_byte.write_all(b"two").await.unwrap();
    between_requests.write_all(b"two").await.unwrap();
    proxy.drain();
    // A connection that is idle is closed.
    assert_eq!(timeout(LIMIT, idle.read(&mut [0; 10])).await.unwrap().unwrap(), 0);
    gate.send_replace(true);
    for mut stream in [before_first_byte, between_requests] {
        let mut answer = [0; 3];
        timeout(LIMIT, stream.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(&answer, b"two");
    }
    drop(idle);
    wait_for_end(proxy).await;
}

#[tokio::test]
async fn drain_waits_for_a_pending_response() {
    let folder = Folder::new(&["a.example"]);
    let (asked, draining) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (asking, drains) = (Arc::clone(&asked), Arc::clone(&draining));
    let to = backend(move |mut transport| {
        let (asking, drains) = (Arc::clone(&asking), Arc::clone(&drains));
        async move {
            transport.read_exact(&mut [0; 7]).await.unwrap();
            asking.notify_one();
            drains.notified().await;
            transport.write_all(b"answer").await.unwrap();
        }
    })
    .await;
    let proxy = crate::support::start(&format!(
        "workers = 1\ndrain = 600\n{}alpn = \"http/1.1\"\nto = \"{to}\"",
        folder.listener(),
    ));
    let mut stream = connect(&proxy, "a.example", client().alpn(&["http/1.1"])).await.unwrap();
    stream.write_all(b"request").await.unwrap();
    timeout(LIMIT, asked.notified()).await.unwrap();
    proxy.drain();
    wait_until_closed(proxy.addresses()[0]).await;
    draining.notify_one();
    let mut answer = Vec::new();
    timeout(LIMIT, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, b"answer");
}

#[tokio::test]
async fn drain_timeout_closes_remaining_connections() {
    let folder = Folder::new(&["a.example"]);
    let to = echo().await;
    let proxy = crate::support::start(&format!(
        "workers = 2\ndrain = 0.3\n{}to = \"{to}\"",
        folder.listener()
    ));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(echoed(&mut stream, b"x").await, b"x");
    let started = Instant::now();
    proxy.drain();
    wait_for_end(proxy).await;
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
    // The connection was cut off: the client gets no close_notify.
    assert!(stream.read(&mut [0; 10]).await.is_err());
}

#[tokio::test]
async fn stop_closes_all_connections() {
    let folder = Folder::new(&["a.example"]);
    let to = echo().await;
    let proxy = crate::support::start(&format!(
        "workers = 1\ndrain = 600\n{}to = \"{to}\"",
        folder.listener()
    ));
    let _stream = connect(&proxy, "a.example", client()).await.unwrap();
    proxy.drain();
    proxy.stop();
    wait_for_end(proxy).await;
}
