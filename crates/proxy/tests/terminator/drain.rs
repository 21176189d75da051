//! Drain: requests in progress are finished, idle connections are closed, and new connections are
//! refused.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Folder, backend, client, connect, echo, echoed, exchange, wait_until};

#[tokio::test]
async fn drain_finishes_connections_and_refuses_new_ones() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(echoed(&mut stream, b"before").await, b"before");
    proxy.drain();
    let address = proxy.addresses()[0];
    let mut refused = false;
    for _ in 0..100 {
        refused = TcpStream::connect(address).await.is_err();
        if refused {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(refused, "the listener is still open");
    assert_eq!(echoed(&mut stream, b"after").await, b"after");
    assert_eq!(exchange(&mut stream, b"last").await.unwrap(), b"last");
    tokio::task::spawn_blocking(|| proxy.wait()).await.unwrap().unwrap();
}

#[tokio::test]
async fn drain_closes_idle_http_connections() {
    let folder = Folder::new(&["a.example"]);
    let proxy = crate::support::start(&format!(
        "workers = 1\ndrain = 4\n{}alpn = \"http/1.1\"\nto = \"{}\"\n[timeouts]\npark = 0.4",
        folder.listener(),
        echo().await
    ));
    let http = || client().alpn(&["http/1.1"]);
    let mut silent = connect(&proxy, "a.example", http()).await.unwrap();
    let mut idle = connect(&proxy, "a.example", http()).await.unwrap();
    assert_eq!(echoed(&mut idle, b"request").await, b"request");
    wait_until("both are connected", || proxy.connections() == 2).await;
    let started = Instant::now();
    proxy.drain();
    assert_eq!(silent.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(idle.read(&mut [0; 10]).await.unwrap(), 0);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    drop((silent, idle));
    tokio::task::spawn_blocking(|| proxy.wait()).await.unwrap().unwrap();
}

#[tokio::test]
async fn drain_waits_for_a_pending_response() {
    let folder = Folder::new(&["a.example"]);
    let to = backend(|mut transport| async move {
        transport.read_exact(&mut [0; 7]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        transport.write_all(b"answer").await.unwrap();
    })
    .await;
    let proxy = crate::support::start(&format!(
        "workers = 1\ndrain = 4\n{}alpn = \"http/1.1\"\nto = \"{to}\"",
        folder.listener(),
    ));
    let mut stream = connect(&proxy, "a.example", client().alpn(&["http/1.1"])).await.unwrap();
    stream.write_all(b"request").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    proxy.drain();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
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
    tokio::task::spawn_blocking(|| proxy.wait()).await.unwrap().unwrap();
    assert!(
        started.elapsed() >= Duration::from_millis(300)
            && started.elapsed() < Duration::from_secs(3)
    );
    // The connection was cut off: the client gets no close_notify.
    assert!(stream.read(&mut [0; 10]).await.is_err());
}

#[tokio::test]
async fn stop_closes_all_connections() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    let _stream = connect(&proxy, "a.example", client()).await.unwrap();
    let started = Instant::now();
    proxy.drain();
    proxy.stop();
    tokio::task::spawn_blocking(|| proxy.wait()).await.unwrap().unwrap();
    assert!(started.elapsed() < Duration::from_secs(2));
}
