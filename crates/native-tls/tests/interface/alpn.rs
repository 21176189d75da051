//! Application protocols.

use tercel_native_tls::{TlsAcceptor, TlsConnector};

use crate::fixtures::{connect, localhost, trusting};

#[test]
fn the_servers_first_common_protocol_is_negotiated() {
    let (authority, issued) = localhost();
    let none: &[&str] = &[];
    for (client, server, expected) in [
        (&["h2"][..], &["h2"][..], Some("h2")),
        (&["http/1.1", "h2"], &["h2", "http/1.1"], Some("h2")),
        (&["h2c"], &["h2"], None),
        (&["h2"], none, None),
        (none, &["h2"], None),
        (none, none, None),
    ] {
        let connector = trusting(&authority).request_alpns(client).build().unwrap();
        let acceptor = TlsAcceptor::builder(issued.identity()).accept_alpn(server).build().unwrap();
        let connected = connect(&connector, "localhost", &acceptor);
        for side in [connected.client.unwrap(), connected.server.unwrap()] {
            let negotiated = side.negotiated_alpn().unwrap();
            assert_eq!(negotiated.as_deref(), expected.map(str::as_bytes), "{client:?} {server:?}");
        }
    }
}

#[test]
fn a_bad_protocol_name_is_an_error_of_build() {
    let (_, issued) = localhost();
    let long = "x".repeat(256);
    for name in ["", &long] {
        let error = TlsConnector::builder().request_alpns(&[name]).build().unwrap_err();
        assert!(error.to_string().starts_with("alpn: "), "{error}");
        let mut acceptor = TlsAcceptor::builder(issued.identity());
        let error = acceptor.accept_alpn(&[name.to_owned()]).build().err().unwrap();
        assert!(error.to_string().starts_with("alpn: "), "{error}");
    }
}
