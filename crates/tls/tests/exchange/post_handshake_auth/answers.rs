//! A request and its answer, in every order and cut.
//!
//! Must not know: where a client's key is. Next: `credentials.rs`.

use std::sync::Arc;

use tercel::{ClientAuth, Filled, Opened, Side};

use super::{
    Seen, answer, answered, ask, connect, curious, next, requested, willing, willing_and_curious,
};
use crate::identity::{KINDS, Kind, credential, roots, server};
use crate::pair::{Delivery, Ends, records};

#[test]
fn a_client_shows_its_certificate_when_it_is_asked_later() {
    for kind in KINDS {
        let own = Arc::new(credential(kind));
        let mut ends = willing_and_curious();
        assert!(ends.client.connection.facts.post_handshake_auth);
        assert!(ends.server.connection.facts.post_handshake_auth);
        assert!(ends.client.connection.requester.is_none());
        ends.talk();
        let mut wire = Vec::new();
        let context =
            ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
        let request = requested(&mut ends.client, &wire, Delivery::Whole);
        assert_eq!(request.context(), context);
        let wanted = request.request().unwrap();
        assert_eq!((wanted.side, wanted.server_name), (Side::Client, None));
        assert_eq!(wanted.authorities.map(|names| names.iter().count()), Some(1));
        let scheme = wanted.scheme_for(&own);
        // Data goes both ways in the meantime.
        ends.talk();
        let wire = answer(&mut ends.client, request, Some(&own));
        let answer = answered(&mut ends.server, &wire, Delivery::Whole);
        assert_eq!(answer.context(), context);
        assert!(answer.is_verified());
        assert_eq!(answer.signature_scheme(), scheme);
        let identity = answer.identity().unwrap();
        assert_eq!((identity.side, identity.chain), (Side::Client, own.chain()));
        assert_eq!((identity.server_name, identity.raw_public_key), (None, None));
        assert_eq!(answer.into_chain(), own.chain());
        ends.talk();
    }
}

#[test]
fn a_client_may_decline_what_is_optional() {
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Optional);
    assert!(matches!(request.select(), Ok(None)), "it has no credential configured");
    let wire = answer(&mut ends.client, request, None);
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(!answer.is_verified() && answer.identity().is_none());
    assert_eq!(answer.signature_scheme(), None);
    assert!(answer.into_chain().is_empty());
    ends.talk();
}

#[test]
fn a_server_that_asked_in_the_handshake_asks_again() {
    let server = server().client_auth(ClientAuth::Required, roots()).build().unwrap();
    let client = willing().credential(credential(Kind::Ed25519)).build().unwrap();
    let mut ends = connect(&client, &server);
    assert_eq!(ends.server.connection.facts.peer_chain().len(), 1);
    let request = ask(&mut ends, ClientAuth::Required);
    let other = Arc::new(credential(Kind::P384));
    let wire = answer(&mut ends.client, request, Some(&other));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert_eq!(answer.into_chain(), other.chain());
    ends.talk();
}

#[test]
fn the_answer_is_made_under_the_key_of_its_moment() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let update = |ends: &mut Ends, side, request| {
        let (from, to) = ends.both(side);
        let (mut wire, mut back) = (Vec::new(), Vec::new());
        from.connection.sender.update_key(request, &mut wire).unwrap();
        assert_eq!(to.read(&wire, Delivery::Whole), Ok(Vec::new()));
        to.connection.sender.control(&mut back).unwrap();
        assert_eq!(from.read(&back, Delivery::Whole), Ok(Vec::new()));
    };
    for round in 0..3 {
        // Before the request, before the answer, and after it; of one side and of both.
        update(&mut ends, Side::Client, round == 1);
        let request = ask(&mut ends, ClientAuth::Required);
        update(&mut ends, Side::Server, round == 2);
        update(&mut ends, Side::Client, round == 0);
        let wire = answer(&mut ends.client, request, Some(&own));
        assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
        update(&mut ends, Side::Client, true);
        ends.talk();
    }
}

#[test]
fn an_update_that_is_due_goes_ahead_of_the_answer_not_into_it() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
    ends.server.connection.sender.update_key(true, &mut wire).unwrap();
    let request = requested(&mut ends.client, &wire, Delivery::Whole);
    assert!(matches!(next(&mut ends.client, &[], Delivery::Whole), Ok(Seen::Nothing)));
    let wire = answer(&mut ends.client, request, Some(&own));
    assert_eq!(records(&wire).len(), 2);
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
    ends.talk();
}

#[test]
fn requests_may_be_answered_in_another_order() {
    let owns = [Kind::P256, Kind::Ed25519, Kind::P384].map(|kind| Arc::new(credential(kind)));
    let mut ends = willing_and_curious();
    let mut requests: Vec<_> = owns.iter().map(|_| ask(&mut ends, ClientAuth::Required)).collect();
    assert!(requests.windows(2).all(|two| two[0] != two[1]));
    for own in &owns {
        let request = requests.pop().unwrap();
        let context = request.context().to_vec();
        let wire = answer(&mut ends.client, request, Some(own));
        let answer = answered(&mut ends.server, &wire, Delivery::Whole);
        assert_eq!((answer.context(), answer.is_verified()), (&context[..], true));
        assert_eq!(answer.into_chain(), own.chain());
        ends.talk();
    }
}

#[test]
fn the_messages_may_be_cut_anywhere() {
    let own = Arc::new(credential(Kind::P256));
    let client = willing().max_fragment(64).record_size_limit(65).build().unwrap();
    let mut ends = connect(&client, &curious().build().unwrap());
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
    assert!(records(&wire).len() > 1);
    let request = requested(&mut ends.client, &wire, Delivery::Bytes);
    let wire = answer(&mut ends.client, request, Some(&own));
    assert!(records(&wire).len() > 5);
    assert!(answered(&mut ends.server, &wire, Delivery::Bytes).is_verified());
    ends.talk();
}

#[test]
fn events_come_before_the_data_behind_them() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let mut out = [0; 20_000];
    let Ends { client, server } = &mut ends;
    let mut wire = Vec::new();
    server.connection.request_certificate(ClientAuth::Optional, &mut wire).unwrap();
    server.connection.request_certificate(ClientAuth::Optional, &mut wire).unwrap();
    server.connection.sender.seal_to(b"data", &mut wire).unwrap();
    client.received.extend(&wire);
    let mut wire = Vec::new();
    for _ in 0..2 {
        let filled = client.connection.receiver.open_into(&mut client.received, &mut out).unwrap();
        let Filled::CertificateRequested(request) = filled else { panic!("{filled:?}") };
        client.connection.sender.authenticate(request, Some(&own), &mut wire).unwrap();
    }
    let filled = client.connection.receiver.open_into(&mut client.received, &mut out);
    assert_eq!(filled, Ok(Filled::Data(4)));
    client.connection.sender.seal_to(b"more", &mut wire).unwrap();
    server.received.extend(&wire);
    for _ in 0..2 {
        let filled = server.connection.receiver.open_into(&mut server.received, &mut out).unwrap();
        let Filled::ClientCertificate(answer) = filled else { panic!("{filled:?}") };
        assert!(answer.is_verified());
    }
    let filled = server.connection.receiver.open_into(&mut server.received, &mut out);
    assert_eq!(filled, Ok(Filled::Data(4)));
}

#[test]
fn the_halves_of_a_server_need_only_the_request_between_them() {
    let own = Arc::new(credential(Kind::P256));
    let Ends { mut client, server } = willing_and_curious();
    let (tercel::Connection { mut sender, mut receiver, requester, .. }, mut received) =
        (server.connection, server.received);
    let requester = requester.unwrap();
    let mut wire = Vec::new();
    let pending = sender.request_certificate(&requester, ClientAuth::Required, &mut wire).unwrap();
    let context = pending.context().to_vec();
    receiver.expect(pending).unwrap();
    let request = requested(&mut client, &wire, Delivery::Whole);
    received.extend(&answer(&mut client, request, Some(&own)));
    let Ok(Opened::ClientCertificate(answer)) = receiver.open(&mut received) else { panic!() };
    assert_eq!(answer.context(), context);
}

#[test]
fn a_resumed_connection_can_be_asked() {
    // RFC 9846 4.4.2
    let own = Arc::new(credential(Kind::P256));
    let (client, server) = (willing().build().unwrap(), curious().build().unwrap());
    connect(&client, &server).talk();
    let mut ends = connect(&client, &server);
    assert!(ends.server.connection.facts.resumed);
    let request = ask(&mut ends, ClientAuth::Required);
    let wire = answer(&mut ends.client, request, Some(&own));
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
}
