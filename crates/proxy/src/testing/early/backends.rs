//! Backends that early data does not reach, or that break off.
//!
//! Must not know: guards. Next: `early.rs` in `src`.

use super::*;
use crate::testing::terminator::connect_with;

/// What waited for the handshake and then found no backend was not handed on.
#[tokio::test]
async fn what_reaches_no_backend_is_not_counted() {
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
    let node = start(&text);
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let kept = || metric(&node, "tercel_early_data_handed_on_total{when=\"after_handshake\"}");
    for is_there in [true, false] {
        let config = known_to(&node).await;
        if !is_there {
            serving.abort();
            until("nobody listens", || std::net::TcpStream::connect(to).is_err()).await;
        }
        let mut met = meet(&node, &config, None).await;
        assert_eq!(met.accepted, 5);
        met.stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        met.stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, if is_there { b"early".as_slice() } else { b"" });
        assert_eq!(kept(), 1);
    }
}

#[tokio::test]
async fn a_backend_that_breaks_off_or_is_not_there_is_told_to_the_client() {
    let folder = Folder::new(&["a.example"]);
    let breaks = backend(|mut transport| async move {
        let _ = transport.read(&mut [0; 4096]).await;
        let _ = transport.set_zero_linger();
    })
    .await;
    let listener = folder.listener();
    let node = start(&format!("workers = 1\n{listener}to = \"{breaks}\"\n{AT_ONCE}"));
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let config = client().early_data(true).build().unwrap();
    let stream = connect_with(&node, "a.example", config.clone()).await;
    let mut stream = stream.unwrap();
    stream.write_all(b"x").await.unwrap();
    let _ = stream.read(&mut [0]).await;
    let mut met = Unfinished::begin(&node, &config).await;
    let finished = std::mem::take(&mut met.finished);
    met.transport.write_all(&finished).await.unwrap();
    let mut read = [0; 4096];
    loop {
        match met.connection.receiver.open(&mut met.received) {
            Ok(Opened::More) => {}
            other => panic!("{other:?}"),
        }
        match met.transport.read(&mut read).await {
            Ok(0) | Err(_) => break,
            Ok(count) => met.received.extend(&read[..count]),
        }
    }
    assert!(met.connection.receiver.end_of_input().is_err(), "no close_notify was sent");
    let reset = "tercel_backend_failures_total{reason=\"reset\"}";
    until("it is counted", || metric(&node, reset) >= 1).await;
}
