//! Early data for backends that are unreachable or that fail.

use super::*;
use crate::testing::terminator::connect_with;

/// Early data that waits for the handshake does not count as forwarded if no backend can be
/// connected.
#[tokio::test]
async fn early_data_without_a_backend_is_not_counted() {
    let folder = Folder::new(&["a.example"]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        loop {
            let (mut transport, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut reader, mut writer) = transport.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    let text = format!("workers = 1\n{}to = \"{to}\"\nearly_data = 1000\n", folder.listener());
    let node = start_after_window(&text);
    let kept = || metric(&node, "tercel_early_data_handed_on_total{when=\"after_handshake\"}");
    for is_there in [true, false] {
        let config = client_with_session(&node).await;
        if !is_there {
            serving.abort();
            wait_until("the backend is closed", || std::net::TcpStream::connect(to).is_err()).await;
        }
        let mut early = connect_early(&node, &config, None).await;
        assert_eq!(early.accepted, 5);
        early.stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        early.stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, if is_there { b"early".as_slice() } else { b"" });
        assert_eq!(kept(), 1);
    }
}

#[tokio::test]
async fn client_gets_no_close_notify_when_the_early_data_backend_fails() {
    let folder = Folder::new(&["a.example"]);
    let breaks = backend(|mut transport| async move {
        let _ = transport.read(&mut [0; 4096]).await;
        let _ = transport.set_zero_linger();
    })
    .await;
    let listener = folder.listener();
    let node = start_after_window(&format!("workers = 1\n{listener}to = \"{breaks}\"\n{AT_ONCE}"));
    let config = client().early_data(true).build().unwrap();
    let stream = connect_with(&node, "a.example", config.clone()).await;
    let mut stream = stream.unwrap();
    stream.write_all(b"x").await.unwrap();
    let _ = stream.read(&mut [0]).await;
    let mut early = UnfinishedHandshake::begin(&node, &config).await;
    let finished = std::mem::take(&mut early.finished);
    early.transport.write_all(&finished).await.unwrap();
    let mut read = [0; 4096];
    loop {
        match early.connection.receiver.open(&mut early.received) {
            Ok(Opened::More) => {}
            other => panic!("{other:?}"),
        }
        match early.transport.read(&mut read).await {
            Ok(0) | Err(_) => break,
            Ok(count) => early.received.extend(&read[..count]),
        }
    }
    assert!(early.connection.receiver.end_of_input().is_err(), "no close_notify was sent");
    let reset = "tercel_backend_failures_total{reason=\"reset\"}";
    wait_until("the event is counted", || metric(&node, reset) >= 1).await;
}
