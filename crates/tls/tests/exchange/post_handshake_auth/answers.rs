//! Requests and answers in every order, and divided in every way.

use std::sync::Arc;

use tercel::{Filled, Opened, Side, server::ClientAuth};

use super::{
    Event, answer, answered, ask, connect, connected_pair, next, offering_client, requested,
    server_with_roots,
};
use crate::fixtures::{KINDS, Kind, credential, roots, server};
use crate::pair::{Delivery, Ends, records};

#[test]
fn a_client_sends_its_certificate_when_requested_later() {
    for kind in KINDS {
        let own = Arc::new(credential(kind));
        let mut ends = connected_pair();
        assert!(ends.client.connection.info.post_handshake_auth);
        assert!(ends.server.connection.info.post_handshake_auth);
        assert!(ends.client.connection.requester.is_none());
        ends.talk();
        let mut wire = Vec::new();
        let context =
            ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
        let request = requested(&mut ends.client, &wire, Delivery::Whole);
        assert_eq!(request.context(), context);
        let wanted = request.request();
        assert_eq!((wanted.side, wanted.server_name), (Side::Client, None));
        assert_eq!(wanted.authorities.map(|names| names.iter().count()), Some(1));
        let scheme = wanted.scheme_for(&own);
        // Data is transferred in both directions between request and answer.
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
fn a_client_may_decline_an_optional_request() {
    let mut ends = connected_pair();
    let request = ask(&mut ends, ClientAuth::Optional);
    assert!(matches!(request.select(), Ok(None)), "no credential is configured");
    let wire = answer(&mut ends.client, request, None);
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(!answer.is_verified() && answer.identity().is_none());
    assert_eq!(answer.signature_scheme(), None);
    assert!(answer.into_chain().is_empty());
    ends.talk();
}

#[test]
fn a_server_that_requested_in_the_handshake_requests_again() {
    let server = server().client_auth(ClientAuth::Required, roots()).build().unwrap();
    let client = offering_client().credential(credential(Kind::Ed25519)).build().unwrap();
    let mut ends = connect(&client, &server);
    assert_eq!(ends.server.connection.info.peer_chain().len(), 1);
    let request = ask(&mut ends, ClientAuth::Required);
    let other = Arc::new(credential(Kind::P384));
    let wire = answer(&mut ends.client, request, Some(&other));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert_eq!(answer.into_chain(), other.chain());
    ends.talk();
}

#[test]
fn the_finished_of_an_answer_uses_the_current_key() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = connected_pair();
    let update = |ends: &mut Ends, side, request| {
        let (from, to) = ends.both(side);
        let (mut wire, mut back) = (Vec::new(), Vec::new());
        from.connection.sender.update_key(request, &mut wire).unwrap();
        assert_eq!(to.read(&wire, Delivery::Whole), Ok(Vec::new()));
        to.connection.sender.control(&mut back).unwrap();
        assert_eq!(from.read(&back, Delivery::Whole), Ok(Vec::new()));
    };
    for round in 0..3 {
        // Keys are updated before the request, before the answer, and after the answer, by one side
        // or by both sides.
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
fn a_pending_key_update_is_sent_before_the_answer() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = connected_pair();
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
    ends.server.connection.sender.update_key(true, &mut wire).unwrap();
    let request = requested(&mut ends.client, &wire, Delivery::Whole);
    assert!(matches!(next(&mut ends.client, &[], Delivery::Whole), Ok(Event::Nothing)));
    let wire = answer(&mut ends.client, request, Some(&own));
    assert_eq!(records(&wire).len(), 2);
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
    ends.talk();
}

#[test]
fn requests_may_be_answered_in_any_order() {
    let owns = [Kind::P256, Kind::Ed25519, Kind::P384].map(|kind| Arc::new(credential(kind)));
    let mut ends = connected_pair();
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
fn the_messages_may_be_divided_anywhere() {
    let own = Arc::new(credential(Kind::P256));
    let client = offering_client().max_fragment(64).record_size_limit(65).build().unwrap();
    let mut ends = connect(&client, &server_with_roots().build().unwrap());
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
fn events_are_reported_before_later_data() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = connected_pair();
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
fn the_halves_of_a_server_share_only_the_request() {
    let own = Arc::new(credential(Kind::P256));
    let Ends { mut client, server } = connected_pair();
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
fn a_request_can_follow_a_resumption() {
    // RFC 9846 4.4.2
    let own = Arc::new(credential(Kind::P256));
    let (client, server) =
        (offering_client().build().unwrap(), server_with_roots().build().unwrap());
    connect(&client, &server).talk();
    let mut ends = connect(&client, &server);
    assert!(ends.server.connection.info.resumed);
    let request = ask(&mut ends, ClientAuth::Required);
    let wire = answer(&mut ends.client, request, Some(&own));
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
}
