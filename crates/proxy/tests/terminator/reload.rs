//! Another configuration, and other certificates, while connections go on.

use crate::support::{
    Folder, client, config, connect, connect_with, echo, echoed, exchange, greeting_echo,
};

fn text(folder: &Folder, to: std::net::SocketAddr) -> String {
    format!("workers = 2\n{}to = \"{to}\"\n", folder.listener())
}

#[tokio::test]
async fn routes_change_and_connections_stay() {
    let folder = Folder::new(&["a.example"]);
    let (one, two) = (greeting_echo(b"1").await, greeting_echo(b"2").await);
    let mut proxy = crate::support::start(&text(&folder, one));
    let mut old = connect(&proxy, "a.example", client()).await.unwrap();
    let settings = client().build().unwrap();
    let mut stream = connect_with(&proxy, "a.example", settings.clone()).await.unwrap();
    assert_eq!(exchange(&mut stream, b"").await.unwrap(), b"1");
    proxy.reload(config(&text(&folder, two))).unwrap();
    for _ in 0..100 {
        let mut stream = connect_with(&proxy, "a.example", settings.clone()).await.unwrap();
        // Tickets are good across a reload.
        assert!(stream.facts().resumed);
        if exchange(&mut stream, b"").await.unwrap() == b"2" {
            break;
        }
    }
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    assert_eq!(exchange(&mut stream, b"").await.unwrap(), b"2");
    assert_eq!(exchange(&mut old, b"still").await.unwrap(), b"1still");
}

#[tokio::test]
async fn what_is_wrong_changes_nothing() {
    let folder = Folder::new(&["a.example"]);
    let to = echo().await;
    let mut proxy = crate::support::start(&text(&folder, to));
    let good = text(&folder, to);
    for (bad, expected) in [
        (good.replace("certs", "none"), "listener[0].certificates"),
        (good.replace("workers = 2", "workers = 3"), "workers"),
        (good.replace("127.0.0.1:0", "127.0.0.1:1"), "listener"),
        (
            format!("{good}client_auth = \"required\"\nclient_ca = \"/none\"\n"),
            "listener[0].client_ca",
        ),
    ] {
        let fault = proxy.reload(config(&bad)).unwrap_err();
        assert_eq!(fault.key, expected, "{fault}");
        assert_eq!(fault.source, "test.toml");
        let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
        assert_eq!(echoed(&mut stream, b"x").await, b"x");
    }
}

#[tokio::test]
async fn certificates_change_and_connections_stay() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    let mut old = connect(&proxy, "a.example", client()).await.unwrap();
    let chain = |stream: &mut tercel_tokio::TlsStream<_>| stream.facts_mut().take_peer_chain();
    let before = chain(&mut old);
    folder.certify("a.example");
    proxy.certificates().iter().for_each(|certificates| assert!(certificates.reload().any()));
    let mut new = connect(&proxy, "a.example", client()).await.unwrap();
    assert_ne!(before, chain(&mut new));
    // Half a file: what there is stays.
    std::fs::write(folder.path("certs/a.example.crt"), "-----BEGIN CERT").unwrap();
    let changes = proxy.certificates()[0].reload();
    assert!(!changes.any() && changes.problems.len() == 1);
    assert!(connect(&proxy, "a.example", client()).await.is_ok());
    assert_eq!(exchange(&mut old, b"still").await.unwrap(), b"still");
}
