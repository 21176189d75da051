//! Requests that are not allowed, and requests and answers that are refused.

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::wire::ProtocolVersion;
use tercel::{
    Error, Opened,
    error::{InternalError, Misuse},
    psk::PreSharedKey,
    server::ClientAuth,
};

use super::{answer, answered, ask, connect, connected_pair, offering_client, server_with_roots};
use crate::fixtures::{Kind, NAME, client, credential, server};
use crate::pair::{Delivery, End, Ends, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;

#[test]
fn only_a_client_that_offers_it_gets_a_request() {
    // RFC 9846 4.3.6
    let mut wire = Vec::new();
    let server_with_roots = server_with_roots().build().unwrap();
    let mut not_offered = connect(&client().build().unwrap(), &server_with_roots);
    assert!(!not_offered.server.connection.info.post_handshake_auth);
    let mut no_verifier = connect(&offering_client().build().unwrap(), &server().build().unwrap());
    let mut old =
        connect(&offering_client().versions(&[TLS12]).build().unwrap(), &server_with_roots);
    let mut good = connect(&offering_client().build().unwrap(), &server_with_roots);
    for (connection, misuse) in [
        (&mut not_offered.server.connection, Misuse::NoPostHandshakeAuth),
        (&mut not_offered.client.connection, Misuse::NoPostHandshakeAuth),
        (&mut good.client.connection, Misuse::NoPostHandshakeAuth),
        (&mut no_verifier.server.connection, Misuse::NoPostHandshakeAuth),
        (&mut old.server.connection, Misuse::WrongVersion),
    ] {
        assert!(connection.requester.is_none());
        let refused = connection.request_certificate(ClientAuth::Required, &mut wire);
        assert_eq!(refused, Err(misuse.into()));
    }
    let refused = good.server.connection.request_certificate(ClientAuth::None, &mut wire);
    assert_eq!(refused, Err(Misuse::InvalidArgument.into()));
    assert!(wire.is_empty());
    good.talk();
    old.talk();
}

/// RFC 9846 4.4.2
#[test]
fn a_client_with_an_external_key_gets_no_request() {
    let key = || PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
    let client = offering_client().pre_shared_keys([key()]).build().unwrap();
    let server = server_with_roots().pre_shared_keys([key()]).build().unwrap();
    for resumed in [false, true] {
        let mut ends = connect(&client, &server);
        assert_eq!(ends.server.connection.info.resumed, resumed);
        assert_eq!(ends.server.connection.info.pre_shared_key(), Some(&b"name"[..]));
        for info in [&ends.client.connection.info, &ends.server.connection.info] {
            assert!(!info.post_handshake_auth);
        }
        let mut wire = Vec::new();
        let refused = ends.server.connection.request_certificate(ClientAuth::Optional, &mut wire);
        assert_eq!(refused, Err(Misuse::NoPostHandshakeAuth.into()));
        ends.talk();
    }
}

/// The requests of HTTP/2 share the connection. RFC 9113 9.2.3
#[test]
fn a_connection_with_http2_permits_no_request() {
    for (protocol, permits) in [("h2", false), ("http/1.1", true)] {
        let client = offering_client().alpn(&["h2", "http/1.1"]).build().unwrap();
        let server = server_with_roots().alpn(&[protocol]).build().unwrap();
        let mut ends = connect(&client, &server);
        for info in [&ends.client.connection.info, &ends.server.connection.info] {
            assert_eq!(info.post_handshake_auth, permits);
        }
        let mut wire = Vec::new();
        let asked = ends.server.connection.request_certificate(ClientAuth::Optional, &mut wire);
        assert_eq!(asked.is_ok(), permits);
        assert_eq!(wire.is_empty(), !permits);
    }
}

#[test]
fn the_extension_is_sent_only_if_enabled_and_with_tls13() {
    for (config, expected) in [
        (client().build(), false),
        (offering_client().build(), true),
        (offering_client().versions(&[TLS12]).build(), false),
    ] {
        let mut hello = Vec::new();
        Pair::new(&config.unwrap(), &server_with_roots().build().unwrap(), NAME)
            .tap_to_server(|bytes| hello.extend_from_slice(bytes))
            .connect()
            .unwrap();
        // The extension is empty: type 49, length 0.
        let (_, fragment) = &records(&hello)[0];
        let hello = tercel_wire::HandshakeMessage::parse(&fragment[4..]);
        let hello: tercel::wire::ClientHello<'_> = hello.unwrap();
        assert_eq!(hello.extensions.post_handshake_auth.is_some(), expected);
    }
}

#[test]
fn at_most_eight_requests_are_open() {
    let mut ends = connected_pair();
    let mut requests: Vec<_> = (0..8).map(|_| ask(&mut ends, ClientAuth::Optional)).collect();
    let mut wire = Vec::new();
    let server = &mut ends.server.connection;
    let refused = server.request_certificate(ClientAuth::Optional, &mut wire);
    assert_eq!(refused, Err(Misuse::TooManyCertificateRequests.into()));
    assert!(wire.is_empty());
    // Each answer makes space for another request.
    for _ in 0..20 {
        let wire = answer(&mut ends.client, requests.remove(0), None);
        answered(&mut ends.server, &wire, Delivery::Whole);
        requests.push(ask(&mut ends, ClientAuth::Optional));
    }
    ends.talk();
}

#[test]
fn requests_of_another_connection_are_refused() {
    let own = Arc::new(credential(Kind::P256));
    let (mut ends, mut others) = (connected_pair(), connected_pair());
    let misuse = Err(Misuse::InvalidArgument.into());
    let request = ask(&mut others, ClientAuth::Optional);
    let mut wire = Vec::new();
    let sender = &mut ends.client.connection.sender;
    assert_eq!(sender.authenticate(request, Some(&own), &mut wire), misuse);
    let requester = others.server.connection.requester.as_ref().unwrap();
    let sender = &mut ends.server.connection.sender;
    let refused = sender.request_certificate(requester, ClientAuth::Optional, &mut wire);
    assert_eq!(refused.map(|_| ()), misuse);
    assert!(wire.is_empty());
    let sender = &mut others.server.connection.sender;
    let pending = sender.request_certificate(requester, ClientAuth::Optional, &mut wire).unwrap();
    assert_eq!(ends.server.connection.receiver.expect(pending), misuse);
    ends.talk();
}

#[test]
fn a_closed_connection_neither_requests_nor_answers() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = connected_pair();
    let request = ask(&mut ends, ClientAuth::Optional);
    let mut wire = Vec::new();
    let closed = Error::from(InternalError::Closed);
    ends.client.connection.sender.close(&mut wire).unwrap();
    let length = wire.len();
    let sender = &mut ends.client.connection.sender;
    assert_eq!(sender.authenticate(request, Some(&own), &mut wire), Err(closed));
    assert_eq!(wire.len(), length);
    wire.clear();
    ends.server.connection.sender.close(&mut wire).unwrap();
    let refused = ends.server.connection.request_certificate(ClientAuth::Optional, &mut wire);
    assert_eq!(refused, Err(closed));
}

#[test]
fn messages_after_a_close_are_ignored() {
    let mut ends = connected_pair();
    let mut request = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Optional, &mut request).unwrap();
    let mut wire = Vec::new();
    ends.server.connection.sender.close(&mut wire).unwrap();
    let client = &mut ends.client;
    client.received.extend(&request);
    client.received.extend(&wire);
    client.received.extend(&request);
    let opened = client.connection.receiver.open(&mut client.received);
    assert!(matches!(opened, Ok(Opened::CertificateRequested(_))));
    for _ in 0..2 {
        let opened = client.connection.receiver.open(&mut client.received);
        assert_eq!(opened, Ok(Opened::Closed));
    }
}

#[test]
fn a_connection_with_open_requests_is_not_saved() {
    let refused = |connection: tercel::Connection| match connection.save() {
        Err(refused) => refused.reason,
        Ok(_) => panic!("it was saved"),
    };
    let awaited = Error::from(Misuse::CertificatePending);
    // A client may get a request at any time; a server can only get answers to its requests.
    assert_eq!(refused(connected_pair().client.connection), awaited);
    let is_movable = !cfg!(feature = "fips");
    assert_eq!(connected_pair().server.connection.save().is_ok(), is_movable);
    let mut ends = connected_pair();
    ends.client.connection.park();
    ends.server.connection.park();
    let request = ask(&mut ends, ClientAuth::Optional);
    ends.client.connection.park();
    ends.server.connection.park();
    let wire = answer(&mut ends.client, request, None);
    let Ends { client, server } = ends;
    let refused = server.connection.save().unwrap_err();
    assert_eq!(refused.reason, awaited);
    let refused = refused.connection.export_traffic_keys(&server.received).err().unwrap();
    assert_eq!(refused.reason, awaited);
    let mut server = End { connection: *refused.connection, received: server.received };
    answered(&mut server, &wire, Delivery::Whole);
    assert_eq!(server.connection.save().is_ok(), is_movable);
    let refused = client.connection.export_traffic_keys(&client.received).err().unwrap();
    assert_eq!(refused.reason, awaited);
}
