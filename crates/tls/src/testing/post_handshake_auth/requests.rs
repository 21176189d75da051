//! Requests that a client must refuse.

use tercel_wire::{
    CertificateRequest, CertificateRequestExtensions, ContentType, HandshakeMessage, List,
    SignatureScheme,
};

use super::{Ends, Event, SCHEME, bad, receive, send};
use crate::error::{Error, PeerError};

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
