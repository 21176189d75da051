//! Requests that a client must refuse.

use std::sync::Arc;

use tercel_wire::{
    CertificateRequest, CertificateRequestExtensions, ContentType, HandshakeMessage, List,
    NewSessionTicket, SignatureScheme,
};

use super::{Ends, Event, SCHEME, anyone, bad, client, receive, send};
use crate::auth::credential::Credentials;
use crate::config::client::ClientConfigBuilder;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::error::{Error, PeerError};
use crate::policy::Policy;
use crate::testing::misbehaving_peer::credential;

fn request(context: &[u8], schemes: &[SignatureScheme]) -> Vec<u8> {
    let mut out = Vec::new();
    let extensions = CertificateRequestExtensions {
        signature_algorithms: (!schemes.is_empty()).then(|| List::new(schemes)),
        certificate_authorities: None,
        ..Default::default()
    };
    CertificateRequest { certificate_request_context: context, extensions }
        .encode(&mut out)
        .unwrap();
    out
}

#[test]
fn a_client_that_did_not_offer_it_refuses_a_request() {
    let mut ends = Ends::with(false, |server| server);
    assert_eq!(ends.server_sends(&request(&[1], &[SCHEME])), bad(PeerError::UnexpectedMessage));
}

#[test]
fn a_request_must_have_signature_schemes() {
    // RFC 9846 4.4.2
    let refused = Ends::new().server_sends(&request(&[1], &[]));
    assert_eq!(refused, bad(PeerError::MissingServerExtension));
    let refused = Ends::new().server_sends(&[13, 0, 0, 1, 9]);
    assert!(matches!(refused, Err(Error::Peer(PeerError::Decode(_)))), "{refused:?}");
}

#[test]
fn a_context_must_not_be_repeated() {
    // RFC 9846 4.4.2
    for context in [&[][..], &[1], &[1; 255]] {
        let mut ends = Ends::new();
        assert_eq!(ends.server_sends(&request(context, &[SCHEME])), Ok(Event::Requested));
        assert_eq!(ends.server_sends(&request(&[2], &[SCHEME])), Ok(Event::Requested));
        let again = request(context, &[SCHEME, SignatureScheme::ED25519]);
        assert_eq!(ends.server_sends(&again), bad(PeerError::WrongCertificateContext));
    }
}

#[test]
fn the_number_of_open_requests_is_limited() {
    let flood = |from: u8, to: u8| -> Vec<u8> {
        (from..to).flat_map(|context| request(&[context], &[SCHEME])).collect()
    };
    let mut ends = Ends::new();
    assert_eq!(ends.server_sends(&flood(0, 8)), Ok(Event::Requested));
    // The test has dropped all requests, so the same number is allowed again.
    assert_eq!(ends.server_sends(&flood(8, 16)), Ok(Event::Requested));
    assert_eq!(ends.server_sends(&flood(16, 25)), bad(PeerError::TooManyCertificateRequests));
}

/// Each request costs the client a signature, whenever it is answered. RFC 9846 4.7.2
#[test]
fn the_number_of_requests_in_all_is_limited() {
    let mut ends = Ends::new();
    for context in 0..64 {
        assert_eq!(ends.server_sends(&request(&[context], &[SCHEME])), Ok(Event::Requested));
    }
    let refused = ends.server_sends(&request(&[64], &[SCHEME]));
    assert_eq!(refused, bad(PeerError::TooManyCertificateRequests));
    // All contexts are remembered, so that none is accepted twice.
    let mut ends = Ends::new();
    for context in 0..63 {
        assert_eq!(ends.server_sends(&request(&[context], &[SCHEME])), Ok(Event::Requested));
    }
    let refused = ends.server_sends(&request(&[0], &[SCHEME]));
    assert_eq!(refused, bad(PeerError::WrongCertificateContext));
}

#[test]
fn a_request_may_be_divided_but_not_by_data() {
    let mut ends = Ends::new();
    let message = request(&[1], &[SCHEME]);
    let (begin, end) = message.split_at(6);
    assert_eq!(ends.server_sends(begin), Ok(Event::Nothing));
    assert_eq!(ends.server_sends(end), Ok(Event::Requested));
    let message = request(&[2], &[SCHEME]);
    assert_eq!(ends.server_sends(&message[..6]), Ok(Event::Nothing));
    send(&mut ends.server, ContentType::APPLICATION_DATA, b"data", &mut ends.to_client);
    let refused = receive(&mut ends.client, &mut ends.to_client);
    assert_eq!(refused, bad(PeerError::InterruptedHandshakeMessage));
}

/// A ticket that follows a request belongs to the client that the answer authenticates.
/// RFC 9846 4.7.1, 4.7.2
#[test]
fn tickets_after_a_request_are_kept_only_with_a_session_context() {
    type Change = fn(ClientConfigBuilder) -> ClientConfigBuilder;
    let cases: [(Change, bool); 5] = [
        // The caller may answer with any credential.
        (|client| client, false),
        (|client| client.credentials(Policy::Here(Arc::new(Credentials::new(vec![])))), false),
        (|client| client.credential(credential()), false),
        (|client| client.credentials(Policy::Ask).session_context(b"one client"), true),
        (|client| client.credential(credential()).session_context(b"one client"), true),
    ];
    for (place, (change, is_kept)) in cases.into_iter().enumerate() {
        let client = client().post_handshake_auth(true).return_new_sessions(true);
        let server = ServerConfig::builder().credential(credential()).without_tickets();
        let mut ends = Ends::of(change(client), server.client_verifier(ClientAuth::None, anyone()));
        let mut ticket = Vec::new();
        let message = NewSessionTicket {
            ticket_lifetime: 100,
            ticket_age_add: 0,
            ticket_nonce: &[1],
            ticket: b"ticket",
            extensions: Default::default(),
        };
        message.encode(&mut ticket).unwrap();
        // A session of the time before the request remains to be taken.
        assert_eq!(ends.server_sends(&ticket), Ok(Event::Nothing));
        assert_eq!(ends.server_sends(&request(&[1], &[SCHEME])), Ok(Event::Requested));
        assert_eq!(ends.server_sends(&ticket), Ok(Event::Nothing));
        let kept = ends.client.receiver.take_new_sessions().len();
        assert_eq!(kept, if is_kept { 2 } else { 1 }, "case {place}");
    }
}
