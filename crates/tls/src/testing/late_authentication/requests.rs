//! Requests that a client has to refuse.
//!
//! Must not know: answers. Next: `connection/post_handshake/`.

use tercel_wire::{
    CertificateRequest, CertificateRequestExtensions, ContentType, HandshakeMessage, List,
    SignatureScheme,
};

use super::{Ends, SCHEME, Seen, bad, hear, say};
use crate::error::{Error, Peer};

fn request(context: &[u8], schemes: &[SignatureScheme]) -> Vec<u8> {
    let mut out = Vec::new();
    let extensions = CertificateRequestExtensions {
        signature_algorithms: (!schemes.is_empty()).then(|| List::of(schemes)),
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
    assert_eq!(ends.server_says(&request(&[1], &[SCHEME])), bad(Peer::UnexpectedMessage));
}

#[test]
fn a_request_names_signature_schemes() {
    // RFC 9846 4.4.2
    let refused = Ends::new().server_says(&request(&[1], &[]));
    assert_eq!(refused, bad(Peer::MissingServerExtension));
    let refused = Ends::new().server_says(&[13, 0, 0, 1, 9]);
    assert!(matches!(refused, Err(Error::Peer(Peer::Decode(_)))), "{refused:?}");
}

#[test]
fn a_context_is_used_once() {
    // RFC 9846 4.4.2
    for context in [&[][..], &[1], &[1; 255]] {
        let mut ends = Ends::new();
        assert_eq!(ends.server_says(&request(context, &[SCHEME])), Ok(Seen::Requested));
        assert_eq!(ends.server_says(&request(&[2], &[SCHEME])), Ok(Seen::Requested));
        let again = request(context, &[SCHEME, SignatureScheme::ED25519]);
        assert_eq!(ends.server_says(&again), bad(Peer::WrongCertificateContext));
    }
}

#[test]
fn requests_that_are_not_answered_are_few() {
    let flood = |from: u8, to: u8| -> Vec<u8> {
        (from..to).flat_map(|context| request(&[context], &[SCHEME])).collect()
    };
    let mut ends = Ends::new();
    assert_eq!(ends.server_says(&flood(0, 8)), Ok(Seen::Requested));
    // Each of those was let go: there is room for as many more.
    assert_eq!(ends.server_says(&flood(8, 16)), Ok(Seen::Requested));
    assert_eq!(ends.server_says(&flood(16, 25)), bad(Peer::TooManyCertificateRequests));
    // Many more contexts than are remembered are no trouble.
    let mut ends = Ends::new();
    for context in 0..100 {
        assert_eq!(ends.server_says(&flood(context, context + 1)), Ok(Seen::Requested));
    }
}

#[test]
fn a_request_may_come_in_pieces_but_not_around_data() {
    let mut ends = Ends::new();
    let message = request(&[1], &[SCHEME]);
    let (begin, end) = message.split_at(6);
    assert_eq!(ends.server_says(begin), Ok(Seen::Nothing));
    assert_eq!(ends.server_says(end), Ok(Seen::Requested));
    let message = request(&[2], &[SCHEME]);
    assert_eq!(ends.server_says(&message[..6]), Ok(Seen::Nothing));
    say(&mut ends.server, ContentType::APPLICATION_DATA, b"data", &mut ends.to_client);
    let refused = hear(&mut ends.client, &mut ends.to_client);
    assert_eq!(refused, bad(Peer::InterruptedHandshakeMessage));
}
