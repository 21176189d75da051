//! Answers that a server has to refuse: to no request, without the key, under the wrong secret.
//!
//! Must not know: what comes between the messages of one. Next: `interruptions.rs`.

use std::sync::Arc;

use tercel_wire::{AlertDescription, HandshakeType, SignatureScheme};

use super::{ANSWERED, DECLINED, Ends, Parts, SCHEME, Seen, bad, secret_of};
use crate::config::compression::{CompressCertificate, DecompressionFailed};
use crate::config::policy::Side;
use crate::config::server::ClientAuth;
use crate::connection::authentication::compression::compress;
use crate::error::{Error, Peer};

#[test]
fn the_parts_make_an_answer() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = parts.flight();
    assert_eq!(ends.client_says(&flight), ANSWERED);
    let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
    let flight = [parts.nothing(), parts.finished()].concat();
    assert_eq!(ends.client_says(&flight), DECLINED);
    // One record for each message is as good.
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let (certificate, verify) = (parts.certificate(), parts.verify());
    assert_eq!(ends.client_says(&certificate), Ok(Seen::Nothing));
    assert_eq!(ends.client_says(&verify), Ok(Seen::Nothing));
    assert_eq!(ends.client_says(&parts.finished()), ANSWERED);
    assert_eq!(ends.data(b"data"), Ok(Seen::Data));
}

#[test]
fn an_answer_that_nobody_asked_for_is_refused() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = parts.flight();
    assert_eq!(ends.client_says(&flight), ANSWERED);
    assert_eq!(ends.client_says(&flight), bad(Peer::UnexpectedMessage), "a second time");
    for kind in [
        HandshakeType::CERTIFICATE,
        HandshakeType::COMPRESSED_CERTIFICATE,
        HandshakeType::CERTIFICATE_VERIFY,
        HandshakeType::FINISHED,
        HandshakeType::CERTIFICATE_REQUEST,
    ] {
        let refused = Ends::new().client_says(&[kind.0, 0, 0, 1, 0]);
        assert_eq!(refused, bad(Peer::UnexpectedMessage), "{kind:?}");
        // Nor is a request answered by anything but a Certificate.
        let mut ends = Ends::new();
        let _ = Parts::to(&mut ends, ClientAuth::Required);
        if kind != HandshakeType::CERTIFICATE {
            let refused = ends.client_says(&[kind.0, 0, 0, 1, 0]);
            assert_eq!(refused, bad(Peer::UnexpectedMessage), "{kind:?}");
        }
    }
}

#[test]
fn an_answer_has_the_context_of_a_request() {
    for id in [&[][..], &[7; 32], &[7; 255]] {
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Required);
        parts.id = id.to_vec();
        assert_eq!(ends.client_says(&parts.flight()), bad(Peer::WrongCertificateContext));
    }
    // The context of one request does not go with the transcript of another.
    let mut ends = Ends::new();
    let first = Parts::to(&mut ends, ClientAuth::Required);
    let mut second = Parts::to(&mut ends, ClientAuth::Required);
    second.id = first.id;
    assert_eq!(ends.client_says(&second.flight()), bad(Peer::BadSignature));
    let mut ends = Ends::new();
    let first = Parts::to(&mut ends, ClientAuth::Optional);
    let mut second = Parts::to(&mut ends, ClientAuth::Optional);
    second.id = first.id;
    let flight = [second.nothing(), second.finished()].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished));
}

#[test]
fn who_shows_a_certificate_proves_to_have_its_key() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = [parts.certificate(), parts.finished()].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::InterruptedAuthentication));

    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = [parts.certificate(), parts.verify_as(Side::Server, SCHEME)].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::BadSignature), "the server's context string");

    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let mut flight = [parts.certificate(), parts.verify()].concat();
    *flight.last_mut().unwrap() ^= 1;
    assert_eq!(ends.client_says(&flight), bad(Peer::BadSignature));

    let mut ends = Ends::with(true, |server| server.signature_schemes(&[SCHEME]));
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let other = SignatureScheme::ECDSA_SECP384R1_SHA384;
    let flight = [parts.certificate(), parts.verify_as(Side::Client, other)].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::WrongSignatureScheme));
}

#[test]
fn who_shows_nothing_signs_nothing() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
    let flight = [parts.nothing(), parts.verify()].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::InterruptedAuthentication));
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_says(&parts.nothing()), bad(Peer::CertificateRequired));
}

#[test]
fn finished_is_made_under_the_current_key_over_the_whole_answer() {
    for declines in [false, true] {
        let begin = |parts: &mut Parts| {
            if declines {
                return parts.nothing();
            }
            [parts.certificate(), parts.verify()].concat()
        };
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        let mut flight = [begin(&mut parts), parts.finished()].concat();
        *flight.last_mut().unwrap() ^= 1;
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished));

        // One byte more than the hash has. RFC 9846 6
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        let (before, mut finished) = (begin(&mut parts), parts.finished());
        finished[3] += 1;
        let flight = [before, finished, vec![0]].concat();
        let error = ends.client_says(&flight).unwrap_err();
        assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR), "{error:?}");

        // An update later, the secret is another.
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        assert_eq!(ends.update(), Ok(Seen::Nothing));
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished), "the old key's");
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        parts.secret = parts.secret.next();
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished), "the next key's");

        // The server's secret is no base for it.
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        parts.secret = secret_of(&ends.server);
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished));
    }
}

#[test]
fn a_certificate_is_no_longer_than_in_a_handshake() {
    let mut ends = Ends::new();
    let _ = Parts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_says(&[11, 1, 0xff, 0xff]), bad(Peer::MessageTooLong));
    let mut ends = Ends::new();
    let _ = Parts::to(&mut ends, ClientAuth::Required);
    let refused = ends.client_says(&[11, 0, 0, 1, 9]);
    assert!(matches!(refused, Err(Error::Peer(Peer::Decode(_)))), "{refused:?}");
}

#[test]
fn a_compressed_certificate_is_read_if_that_was_offered() {
    for offered in [true, false] {
        let mut ends = Ends::with(true, |server| {
            let algorithms: Vec<Arc<dyn CompressCertificate>> = vec![Arc::new(Copied)];
            server.certificate_compression(algorithms).offer_certificate_compression(offered)
        });
        let mut parts = Parts::to(&mut ends, ClientAuth::Required);
        let certificate = parts.transcript.clone();
        let compressed = compress(&Copied, &parts.certificate()).unwrap().unwrap();
        // What was sent counts. RFC 8879 4
        parts.transcript = certificate;
        let certificate = parts.add(compressed);
        let flight = [certificate, parts.verify(), parts.finished()].concat();
        let expected = if offered { ANSWERED } else { bad(Peer::UnexpectedMessage) };
        assert_eq!(ends.client_says(&flight), expected);
    }
}

/// Leaves everything as it is.
struct Copied;

impl CompressCertificate for Copied {
    fn algorithm(&self) -> tercel_wire::CertificateCompressionAlgorithm {
        tercel_wire::CertificateCompressionAlgorithm(0x4000)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        Some(certificate.to_vec())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        if out.len() != compressed.len() {
            return Err(DecompressionFailed);
        }
        out.copy_from_slice(compressed);
        Ok(())
    }
}
