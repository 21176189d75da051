//! Drain: requests in progress are finished, idle connections are closed, and new connections are
//! refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::support::{
    Folder, LIMIT, backend, client, connect, echo, echoed, exchange, wait_for_end, wait_until,
    wait_until_closed,
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
