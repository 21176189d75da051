//! Routes are selected by server name, and have their own settings.

use tercel::wire::ProtocolVersion;

use crate::support::{
    Folder, VERSIONS, client, connect, connect_with, echo, echoed, exchange, greeting_echo,
    identity, metric, quoted,
};

async fn served_by(proxy: &tercel_proxy::Proxy, name: &'static str) -> Option<String> {
    let mut stream = connect(proxy, name, client()).await.ok()?;
    Some(String::from_utf8(exchange(&mut stream, b"").await.unwrap()).unwrap())
}

#[tokio::test]
async fn routes_are_selected_by_server_name() {
    let folder = Folder::new(&["a.example", "*.a.example", "b.example", "c.example"]);
    let [exact, wild, other] = [
        greeting_echo(b"exact").await,
        greeting_echo(b"wild").await,
        greeting_echo(b"other").await,
    ];
    let named = format!(
        "[[listener.route]]\nnames = \"a.example\"\nto = \"{exact}\"\n\
         [[listener.route]]\nnames = [\"*.a.example\", \"B.example\"]\nto = \"{wild}\"\n"
    );
    let proxy = folder.start(&named);
    assert_eq!(served_by(&proxy, "a.example").await.as_deref(), Some("exact"));
    assert_eq!(served_by(&proxy, "x.a.example").await.as_deref(), Some("wild"));
    assert_eq!(served_by(&proxy, "b.example").await.as_deref(), Some("wild"));
    // The name has a certificate but no route.
    assert_eq!(served_by(&proxy, "c.example").await, None);
    let proxy = folder.start(&format!("to = \"{other}\"\n{named}"));
    assert_eq!(served_by(&proxy, "a.example").await.as_deref(), Some("exact"));
    assert_eq!(served_by(&proxy, "c.example").await.as_deref(), Some("other"));
}

#[tokio::test]
async fn route_settings_override_listener_settings() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let to = echo().await;
    let proxy = folder.start(&format!(
        "to = \"{to}\"\nalpn = [\"one\"]\n\
         [[listener.route]]\nnames = \"b.example\"\nalpn = [\"two\"]\nmin_version = \"1.3\"\n"
    ));
    let both = || client().alpn(&["two", "one"]);
    let agreed = connect(&proxy, "a.example", both()).await.unwrap();
    assert_eq!(agreed.info().alpn.as_deref(), Some(b"one".as_slice()));
    let agreed = connect(&proxy, "b.example", both()).await.unwrap();
    assert_eq!(agreed.info().alpn.as_deref(), Some(b"two".as_slice()));
    let old = || client().versions(&[ProtocolVersion::TLS1_2]);
    assert!(connect(&proxy, "a.example", old()).await.is_ok());
    assert!(connect(&proxy, "b.example", old()).await.is_err());
    assert!(connect(&proxy, "a.example", client().alpn(&["three"])).await.is_err());
}

#[tokio::test]
async fn route_can_require_client_certificates() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let authority = quoted(&folder.path("ca.pem"));
    let proxy = folder.start(&format!(
        "to = \"{}\"\n[[listener.route]]\nnames = \"b.example\"\n\
         client_auth = \"required\"\nclient_ca = {authority}\n",
        echo().await
    ));
    assert_eq!(served_by(&proxy, "a.example").await.as_deref(), Some(""));
    let without_certificate = connect(&proxy, "b.example", client()).await;
    // In TLS 1.3 the client completes its handshake before the server refuses it.
    if let Ok(mut stream) = without_certificate {
        assert!(exchange(&mut stream, b"x").await.is_err());
    }
    let alice = client().credential(identity("alice"));
    let mut stream = connect(&proxy, "b.example", alice).await.unwrap();
    assert_eq!(exchange(&mut stream, b"x").await.unwrap(), b"x");
}

#[tokio::test]
async fn sessions_are_resumed() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    for version in VERSIONS {
        let config = client().versions(&[version]).build().unwrap();
        for resumed in [false, true, true] {
            let stream = connect_with(&proxy, "a.example", config.clone()).await;
            let mut stream = stream.unwrap();
            assert_eq!(stream.info().resumed, resumed, "{version:?}");
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
        }
    }
    assert_eq!(metric(&proxy, "tercel_connections_accepted_total"), 6);
}
