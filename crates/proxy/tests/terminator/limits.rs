//! No more connections than there may be.

use crate::support::{Folder, client, connect, echo, echoed, metric, until};

async fn one_of_two(limit: &str, reason: &str) {
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
    until("there is room again", || proxy.connections() == 0).await;
    let mut next = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(echoed(&mut next, b"x").await, b"x");
}

#[tokio::test]
async fn of_the_process() {
    one_of_two("TO\n[limits]\nconnections = 1", "connection_limit").await;
}

#[tokio::test]
async fn of_a_listener() {
    one_of_two("TO\nconnections = 1", "listener_limit").await;
}

#[tokio::test]
async fn of_a_client() {
    one_of_two("TO\n[limits]\nper_client = 1", "address_limit").await;
}
