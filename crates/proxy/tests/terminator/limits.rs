//! Connection limits.

use crate::support::{Folder, client, connect, echo, echoed, metric, wait_until};

async fn assert_limits_to_one(limit: &str, reason: &str) {
    let folder = Folder::new(&["a.example"]);
    let more = limit.replace("TO", &format!("to = \"{}\"", echo().await));
    let proxy = folder.start(&more);
    let mut first = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(echoed(&mut first, b"x").await, b"x");
    assert!(connect(&proxy, "a.example", client()).await.is_err());
    assert_eq!(
        metric(&proxy, &format!("tercel_connections_refused_total{{reason=\"{reason}\"}}")),
        1
    );
    assert_eq!(echoed(&mut first, b"y").await, b"y");
    drop(first);
    wait_until("the connection is closed", || proxy.connections() == 0).await;
    let mut next = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(echoed(&mut next, b"x").await, b"x");
}

#[tokio::test]
async fn process_limit_is_enforced() {
    assert_limits_to_one("TO\n[limits]\nconnections = 1", "connection_limit").await;
}

#[tokio::test]
async fn listener_limit_is_enforced() {
    assert_limits_to_one("TO\nconnections = 1", "listener_limit").await;
}

#[tokio::test]
async fn client_limit_is_enforced() {
    assert_limits_to_one("TO\n[limits]\nper_client = 1", "address_limit").await;
}
