//! Who is not asked, and what of a request or an answer is not taken.
//!
//! Must not know: what a certificate is worth. Next: `streams.rs`.

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::wire::ProtocolVersion;
use tercel::{ClientAuth, Error, Local, Misuse, Opened, PreSharedKey};

use super::{answer, answered, ask, connect, curious, willing, willing_and_curious};
use crate::identity::{Kind, NAME, client, credential, server};
use crate::pair::{Delivery, End, Ends, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;

#[test]
fn only_a_client_that_offers_it_is_asked() {
    // RFC 9846 4.3.6
    let mut wire = Vec::new();
    let curious = curious().build().unwrap();
    let mut not_offered = connect(&client().build().unwrap(), &curious);
    assert!(!not_offered.server.connection.facts.post_handshake_auth);
    let mut no_verifier = connect(&willing().build().unwrap(), &server().build().unwrap());
    let mut old = connect(&willing().versions(&[TLS12]).build().unwrap(), &curious);
    let mut good = connect(&willing().build().unwrap(), &curious);
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
fn who_has_an_external_key_is_not_asked() {
    let key = || PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
    let client = willing().pre_shared_keys([key()]).build().unwrap();
    let server = curious().pre_shared_keys([key()]).build().unwrap();
    for resumed in [false, true] {
        let mut ends = connect(&client, &server);
        assert_eq!(ends.server.connection.facts.resumed, resumed);
        assert_eq!(ends.server.connection.facts.pre_shared_key(), Some(&b"name"[..]));
        for facts in [&ends.client.connection.facts, &ends.server.connection.facts] {
            assert!(!facts.post_handshake_auth);
        }
        let mut wire = Vec::new();
        let refused = ends.server.connection.request_certificate(ClientAuth::Optional, &mut wire);
        assert_eq!(refused, Err(Misuse::NoPostHandshakeAuth.into()));
        ends.talk();
    }
}

#[test]
fn a_hello_says_so_only_where_it_means_something() {
    for (config, expected) in [
        (client().build(), false),
        (willing().build(), true),
        (willing().versions(&[TLS12]).build(), false),
    ] {
        let mut hello = Vec::new();
        Pair::new(&config.unwrap(), &curious().build().unwrap(), NAME)
            .tap_to_server(|bytes| hello.extend_from_slice(bytes))
            .connect()
            .unwrap();
        // The extension is empty: type 49, length 0.
        let (_, fragment) = &records(&hello)[0];
        let hello = tercel::wire::HandshakeMessage::parse(&fragment[4..]);
        let hello: tercel::wire::ClientHello<'_> = hello.unwrap();
        assert_eq!(hello.extensions.post_handshake_auth.is_some(), expected);
    }
}

#[test]
fn no_more_than_eight_requests_are_open() {
    let mut ends = willing_and_curious();
    let mut requests: Vec<_> = (0..8).map(|_| ask(&mut ends, ClientAuth::Optional)).collect();
    let mut wire = Vec::new();
    let server = &mut ends.server.connection;
    let refused = server.request_certificate(ClientAuth::Optional, &mut wire);
    assert_eq!(refused, Err(Misuse::TooManyCertificateRequests.into()));
    assert!(wire.is_empty());
    // With each answer there is room for another.
    for _ in 0..20 {
        let wire = answer(&mut ends.client, requests.remove(0), None);
        answered(&mut ends.server, &wire, Delivery::Whole);
        requests.push(ask(&mut ends, ClientAuth::Optional));
    }
    ends.talk();
}

#[test]
fn what_belongs_to_another_connection_is_not_taken() {
    let own = Arc::new(credential(Kind::P256));
    let (mut ends, mut others) = (willing_and_curious(), willing_and_curious());
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
fn who_has_closed_neither_asks_nor_answers() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Optional);
    let mut wire = Vec::new();
    let closed = Error::from(Local::Closed);
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
fn what_comes_after_a_close_is_not_looked_at() {
    let mut ends = willing_and_curious();
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
fn what_an_answer_rests_on_is_not_handed_over() {
    let refused = |connection: tercel::Connection| match connection.save() {
        Err(refused) => refused.reason,
        Ok(_) => panic!("it was saved"),
    };
    let awaited = Error::from(Misuse::CertificateAwaited);
    // A client may be asked at any time, a server only waits for what it asked for.
    assert_eq!(refused(willing_and_curious().client.connection), awaited);
    assert!(willing_and_curious().server.connection.save().is_ok());
    let mut ends = willing_and_curious();
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
    assert!(server.connection.save().is_ok());
    let refused = client.connection.export_traffic_keys(&client.received).err().unwrap();
    assert_eq!(refused.reason, awaited);
}
