//! PROXY protocol headers, received and sent.

use std::io;
use std::time::Duration;

use tercel::wire::ProtocolVersion;
use tercel_tokio::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{
    Folder, Header, LIMIT, client, connect, echo, exchange, identity, metric, parse, quoted,
    recording_backend, values, wait_until,
};

#[tokio::test]
async fn proxy_header_describes_client_and_connection() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let authority = quoted(&folder.path("ca.pem"));
    let proxy = folder.start(&format!(
        "to = \"{to}\"\nalpn = \"h2\"\nsend_proxy_protocol = true\n\
         client_auth = \"optional\"\nclient_ca = {authority}\n"
    ));
    for (version, name) in
        [(ProtocolVersion::TLS1_3, "TLSv1.3"), (ProtocolVersion::TLS1_2, "TLSv1.2")]
    {
        for shows in [true, false] {
            let mut config = client().versions(&[version]).alpn(&["h2"]);
            if shows {
                config = config.credential(identity("alice"));
            }
            let mut stream = connect(&proxy, "a.example", config).await.unwrap();
            let own = stream.transport().local_addr().unwrap();
            let suite = stream.info().cipher_suite;
            exchange(&mut stream, b"request").await.unwrap();
            let header = parse(&events.recv().await.unwrap());
            assert_eq!(header.rest, b"request");
            assert_eq!((header.source, header.destination), (own, proxy.addresses()[0]));
            assert_eq!(header.value(0x01), Some(b"h2".as_slice()));
            assert_eq!(header.value(0x02), Some(b"a.example".as_slice()));
            let ssl = header.value(0x20).unwrap();
            assert_eq!(ssl[0], if shows { 0b111 } else { 0b001 });
            assert_eq!(ssl[1..5] == [0; 4], shows);
            let inner = Header { values: values(&ssl[5..]), ..header };
            assert_eq!(inner.value(0x21), Some(name.as_bytes()));
            assert_eq!(inner.value(0x22), shows.then_some(b"alice".as_slice()));
            let cipher = std::str::from_utf8(inner.value(0x23).unwrap()).unwrap();
            match version {
                ProtocolVersion::TLS1_3 => assert_eq!(cipher, suite.to_string()),
                _ => assert!(cipher.starts_with("ECDHE-ECDSA-"), "{cipher}"),
            }
        }
    }
}

#[tokio::test]
async fn received_proxy_header_is_forwarded_to_the_backend() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let more = format!("to = \"{to}\"\naccept_proxy_protocol = true\nsend_proxy_protocol = true");
    let proxy = folder.start(&more);
    let v2 = [
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".as_slice(),
        &[192, 0, 2, 1, 198, 51, 100, 2, 0x13, 0x88, 0x01, 0xbb],
    ]
    .concat();
    let v1 = b"PROXY TCP4 192.0.2.1 198.51.100.2 5000 443\r\n".to_vec();
    for header in [v1, v2] {
        let mut transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
        transport.write_all(&header).await.unwrap();
        let connector = Connector::new(client().build().unwrap());
        let name = "a.example".try_into().unwrap();
        let mut stream = connector.connect(name, transport).await.unwrap();
        exchange(&mut stream, b"request").await.unwrap();
        let header = parse(&events.recv().await.unwrap());
        assert_eq!(header.source, "192.0.2.1:5000".parse().unwrap());
        assert_eq!(header.destination, "198.51.100.2:443".parse().unwrap());
        assert_eq!(header.rest, b"request");
    }
}

#[tokio::test]
async fn missing_proxy_header_is_refused() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"\naccept_proxy_protocol = true", echo().await));
    assert!(connect(&proxy, "a.example", client()).await.is_err());
    let refused = "tercel_connections_refused_total{reason=\"proxy_header\"}";
    wait_until("the event is counted", || metric(&proxy, refused) == 1).await;
    wait_until("the connection is closed", || proxy.connections() == 0).await;
}

#[tokio::test]
async fn proxy_header_from_an_untrusted_address_is_refused() {
    let folder = Folder::new(&["a.example"]);
    let to = echo().await;
    for (from, is_believed) in [("127.0.0.0/8", true), ("192.0.2.1", false)] {
        let more = format!(
            "to = \"{to}\"\naccept_proxy_protocol = true\nproxy_protocol_from = \"{from}\""
        );
        let proxy = folder.start(&more);
        let mut transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
        transport.write_all(b"PROXY TCP4 192.0.2.1 198.51.100.2 5000 443\r\n").await.unwrap();
        let connector = Connector::new(client().build().unwrap());
        let stream = connector.connect("a.example".try_into().unwrap(), transport).await;
        assert_eq!(stream.is_ok(), is_believed, "{from}");
        let refused = "tercel_connections_refused_total{reason=\"proxy_header\"}";
        wait_until("the event is counted", || metric(&proxy, refused) == u64::from(!is_believed))
            .await;
    }
}

/// A late header leaves less time for the handshake.
#[tokio::test]
async fn proxy_header_counts_against_the_handshake_timeout() {
    const PAUSE: Duration = Duration::from_millis(700);
    let folder = Folder::new(&["a.example"]);
    let more = "accept_proxy_protocol = true\n[timeouts]\nhandshake = 2";
    let proxy = folder.start(&format!("to = \"{}\"\n{more}", echo().await));
    // A second client begins between the first one's beginning and its header. The first one's time
    // ends first, and would end last if it began again with the header. If this task was suspended
    // until both had ended, it cannot determine which one ended first.
    for _ in 0..20 {
        let mut first = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
        tokio::time::sleep(PAUSE).await;
        let second = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
        tokio::time::sleep(PAUSE).await;
        let _ = first.write_all(b"PROXY UNKNOWN\r\n").await;
        let ended = timeout(LIMIT, first.read(&mut [0])).await.unwrap();
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        let open = second.try_read(&mut [0]).is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock);
        if open {
            return;
        }
    }
    panic!("the time began again with the header");
}
