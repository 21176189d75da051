//! Answers that a server must refuse: answers without a request, without the private key, or under
//! the wrong secret.

use std::sync::Arc;

use tercel_wire::{AlertDescription, HandshakeType, SignatureScheme};

use super::{ANSWERED, AnswerParts, DECLINED, Ends, Event, SCHEME, bad, secret_of};
use crate::auth::compressed_certificate::compress;
use crate::auth::compression::{CompressCertificate, DecompressionFailed};
use crate::config::client_auth::ClientAuth;
use crate::error::{Error, PeerError};
use crate::side::Side;

#[test]
fn complete_answers_are_accepted() {
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let flight = parts.flight();
    assert_eq!(ends.client_sends(&flight), ANSWERED);
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
    let flight = [parts.nothing(), parts.finished()].concat();
    assert_eq!(ends.client_sends(&flight), DECLINED);
    // A client may also send each message in its own record.
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let (certificate, verify) = (parts.certificate(), parts.verify());
    assert_eq!(ends.client_sends(&certificate), Ok(Event::Nothing));
    assert_eq!(ends.client_sends(&verify), Ok(Event::Nothing));
    assert_eq!(ends.client_sends(&parts.finished()), ANSWERED);
    assert_eq!(ends.data(b"data"), Ok(Event::Data));
}

#[test]
fn an_unsolicited_answer_is_refused() {
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let flight = parts.flight();
    assert_eq!(ends.client_sends(&flight), ANSWERED);
    assert_eq!(ends.client_sends(&flight), bad(PeerError::UnexpectedMessage), "sent twice");
    for kind in [
        HandshakeType::CERTIFICATE,
        HandshakeType::COMPRESSED_CERTIFICATE,
        HandshakeType::CERTIFICATE_VERIFY,
        HandshakeType::FINISHED,
        HandshakeType::CERTIFICATE_REQUEST,
    ] {
        let refused = Ends::new().client_sends(&[kind.0, 0, 0, 1, 0]);
        assert_eq!(refused, bad(PeerError::UnexpectedMessage), "{kind:?}");
        // A request must be answered with a Certificate first.
        let mut ends = Ends::new();
        let _ = AnswerParts::to(&mut ends, ClientAuth::Required);
        if kind != HandshakeType::CERTIFICATE {
            let refused = ends.client_sends(&[kind.0, 0, 0, 1, 0]);
            assert_eq!(refused, bad(PeerError::UnexpectedMessage), "{kind:?}");
        }
    }
}

#[test]
fn an_answer_must_have_the_context_of_a_request() {
    for id in [&[][..], &[7; 32], &[7; 255]] {
        let mut ends = Ends::new();
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
        parts.id = id.to_vec();
        assert_eq!(ends.client_sends(&parts.flight()), bad(PeerError::WrongCertificateContext));
    }
    // An answer with the context of one request and the transcript of another is not valid.
    let mut ends = Ends::new();
    let first = AnswerParts::to(&mut ends, ClientAuth::Required);
    let mut second = AnswerParts::to(&mut ends, ClientAuth::Required);
    second.id = first.id;
    assert_eq!(ends.client_sends(&second.flight()), bad(PeerError::BadSignature));
    let mut ends = Ends::new();
    let first = AnswerParts::to(&mut ends, ClientAuth::Optional);
    let mut second = AnswerParts::to(&mut ends, ClientAuth::Optional);
    second.id = first.id;
    let flight = [second.nothing(), second.finished()].concat();
    assert_eq!(ends.client_sends(&flight), bad(PeerError::BadFinished));
}

#[test]
fn a_certificate_needs_a_signature_of_its_key() {
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let flight = [parts.certificate(), parts.finished()].concat();
    assert_eq!(ends.client_sends(&flight), bad(PeerError::InterruptedAuthentication));

    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let flight = [parts.certificate(), parts.verify_as(Side::Server, SCHEME)].concat();
    assert_eq!(
        ends.client_sends(&flight),
        bad(PeerError::BadSignature),
        "the server's context string"
    );

    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let mut flight = [parts.certificate(), parts.verify()].concat();
    *flight.last_mut().unwrap() ^= 1;
    assert_eq!(ends.client_sends(&flight), bad(PeerError::BadSignature));

    let mut ends = Ends::with(true, |server| server.signature_schemes(&[SCHEME]));
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let other = SignatureScheme::ECDSA_SECP384R1_SHA384;
    let flight = [parts.certificate(), parts.verify_as(Side::Client, other)].concat();
    assert_eq!(ends.client_sends(&flight), bad(PeerError::WrongSignatureScheme));
}

#[test]
fn an_answer_without_certificate_has_no_signature() {
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
    let flight = [parts.nothing(), parts.verify()].concat();
    assert_eq!(ends.client_sends(&flight), bad(PeerError::InterruptedAuthentication));
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_sends(&parts.nothing()), bad(PeerError::CertificateRequired));
}

#[test]
fn finished_covers_the_whole_answer_under_the_current_key() {
    for declines in [false, true] {
        let begin = |parts: &mut AnswerParts| {
            if declines {
                return parts.nothing();
            }
            [parts.certificate(), parts.verify()].concat()
        };
        let mut ends = Ends::new();
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
        let mut flight = [begin(&mut parts), parts.finished()].concat();
        *flight.last_mut().unwrap() ^= 1;
        assert_eq!(ends.client_sends(&flight), bad(PeerError::BadFinished));

        // A Finished that is one byte longer than the hash. RFC 9846 6
        let mut ends = Ends::new();
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
        let (before, mut finished) = (begin(&mut parts), parts.finished());
        finished[3] += 1;
        let flight = [before, finished, vec![0]].concat();
        let error = ends.client_sends(&flight).unwrap_err();
        assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR), "{error:?}");

        // A key update replaces the secret from which Finished is computed.
        let mut ends = Ends::new();
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
        assert_eq!(ends.update(), Ok(Event::Nothing));
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_sends(&flight), bad(PeerError::BadFinished), "the old key's");
        let mut ends = Ends::new();
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
        parts.secret = parts.secret.next();
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_sends(&flight), bad(PeerError::BadFinished), "the next key's");

        // A Finished under the server's secret is not valid.
        let mut ends = Ends::new();
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Optional);
        parts.secret = secret_of(&ends.server);
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_sends(&flight), bad(PeerError::BadFinished));
    }
}

#[test]
fn the_limit_of_a_certificate_is_that_of_a_handshake() {
    let mut ends = Ends::new();
    let _ = AnswerParts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_sends(&[11, 1, 0xff, 0xff]), bad(PeerError::MessageTooLong));
    let mut ends = Ends::new();
    let _ = AnswerParts::to(&mut ends, ClientAuth::Required);
    let refused = ends.client_sends(&[11, 0, 0, 1, 9]);
    assert!(matches!(refused, Err(Error::Peer(PeerError::Decode(_)))), "{refused:?}");
}

#[test]
fn a_compressed_certificate_is_accepted_if_offered() {
    for offered in [true, false] {
        let mut ends = Ends::with(true, |server| {
            let algorithms: Vec<Arc<dyn CompressCertificate>> = vec![Arc::new(Copied)];
            server.certificate_compression(algorithms).offer_certificate_compression(offered)
        });
        let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
        let certificate = parts.transcript.clone();
        let compressed = compress(&Copied, &parts.certificate()).unwrap().unwrap();
        // The transcript must contain the compressed message. RFC 8879 4
        parts.transcript = certificate;
        let certificate = parts.add(compressed);
        let flight = [certificate, parts.verify(), parts.finished()].concat();
        let expected = if offered { ANSWERED } else { bad(PeerError::UnexpectedMessage) };
        assert_eq!(ends.client_sends(&flight), expected);
    }
}

/// A compression algorithm that only copies.
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
