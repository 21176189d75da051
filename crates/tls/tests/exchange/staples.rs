//! OCSP responses and signed certificate timestamps, in both directions: requests, answers and
//! verification, through whole handshakes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki::{ChainVerifier, OcspPolicy, Refusal, RefusalReason};
use tercel::pki_types::{CertificateDer, UnixTime};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Answer, Credential, Error, Policy, Question, ServerConfig, Side,
    certificates::{ChainPolicy, PeerIdentity, VerifyPeer},
    clock::Clock,
    server::{ClientAuth, ServerConfigBuilder},
    session::ClientMemoryStore,
};

use crate::fixtures::{Kind, NAME, authority, client, credential, must_staple, roots, server};
use crate::ocsp_maker::{Response, Single, revoked, unknown};
use crate::pair::Pair;
use crate::resumption::visit;

const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];

/// A list of one timestamp of three bytes, as RFC 6962 encodes it.
const TIMESTAMPS: [u8; 7] = [0, 5, 0, 3, 7, 7, 7];

fn leaf(credential: &Credential) -> CertificateDer<'static> {
    credential.chain()[0].clone()
}

/// An OCSP response of the authority with the status good, valid for thousands of years, unless
/// `change` modifies it.
fn response(leaf: &CertificateDer<'_>, change: impl FnOnce(&mut Response)) -> Vec<u8> {
    let (root, key) = authority();
    let issuer = tercel::pki::subject_public_key_info(&root).unwrap();
    let mut response =
        Response::new(Single::new(leaf, issuer, "20200101000000Z", "40000101000000Z"));
    change(&mut response);
    response.sign(&key)
}

/// A credential with an OCSP response `good`.
fn stapled(credential: Credential) -> Credential {
    let response = response(&leaf(&credential), |_| {});
    credential.ocsp_response(response)
}

fn with_policy(policy: OcspPolicy) -> Policy<dyn VerifyPeer> {
    let verifier = ChainVerifier::builder(Arc::new(roots())).ocsp_policy(policy).build().unwrap();
    Policy::Here(Arc::new(ChainPolicy::with_verifier(verifier)))
}

#[test]
fn a_must_staple_leaf_needs_a_valid_response_if_requested() {
    for version in BOTH_VERSIONS {
        let demanding = must_staple(Kind::P256);
        let of = |change: fn(&mut Response)| response(&leaf(&demanding), change);
        // The other certificate has another key, and therefore another serial number.
        let foreign = response(&leaf(&credential(Kind::P384)), |_| {});
        let expired = of(|response| {
            response.singles[0].next_update = Some("20200102000000Z".into());
        });
        let next_update = UnixTime::since_unix_epoch(Duration::from_secs(1_577_923_200));
        for (response, refused) in [
            (of(|_| {}), None),
            (Vec::new(), Some(RefusalReason::MissingStaple)),
            (b"good".to_vec(), Some(RefusalReason::StapleMalformed)),
            (foreign, Some(RefusalReason::StapleForOtherCertificate)),
            (expired, Some(RefusalReason::StapleExpired { next_update })),
        ] {
            let server = ServerConfig::builder()
                .credential(demanding.with_ocsp_response(response))
                .build()
                .unwrap();
            let asking = client().versions(&[version]).build().unwrap();
            match (Pair::new(&asking, &server, NAME).connect(), refused) {
                (Ok(mut ends), None) => ends.talk(),
                (outcome, refused) => {
                    let failure = outcome.unwrap_err();
                    assert_eq!(failure.client, refused.map(Error::Refused), "{version:?}");
                    let reported = AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE;
                    assert_eq!(failure.server, Some(Error::AlertReceived(reported)));
                }
            }
            // A server can send a response only if the client requested one.
            let silent = client().versions(&[version]).request_ocsp(false).build().unwrap();
            Pair::new(&silent, &server, NAME).connect().unwrap().talk();
        }
    }
}

/// A client that requests OCSP responses does not offer a session that was made without a request:
/// such a session proves nothing about the response that the certificate requires. RFC 7633 4.2.3
#[test]
fn a_session_without_ocsp_request_is_not_offered_by_a_client_with_one() {
    let server = ServerConfig::builder().credential(must_staple(Kind::P256)).build().unwrap();
    for version in BOTH_VERSIONS {
        let store = Arc::new(ClientMemoryStore::default());
        let asking = |asks| {
            let client = client().versions(&[version]).request_ocsp(asks);
            client.session_store(Arc::clone(&store) as _).build().unwrap()
        };
        assert!(!visit(&asking(false), &server));
        assert!(visit(&asking(false), &server));
        let failure = Pair::new(&asking(true), &server, NAME).connect().map(|_| ()).unwrap_err();
        assert_eq!(failure.client, Some(Error::Refused(RefusalReason::MissingStaple)));
    }
}

#[test]
fn a_client_that_requires_responses_refuses_a_server_without_a_valid_one() {
    let own = credential(Kind::P256);
    let of = |change: fn(&mut Response)| response(&leaf(&own), change);
    let bad = AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE;
    for version in BOTH_VERSIONS {
        for (response, asks, refused) in [
            (of(|_| {}), true, None),
            (of(|_| {}), false, Some((RefusalReason::StapleRequired, bad))),
            (Vec::new(), true, Some((RefusalReason::StapleRequired, bad))),
            (
                of(|response| response.singles[0].status = unknown()),
                true,
                Some((RefusalReason::StapleUnknownStatus, bad)),
            ),
            (
                of(|response| response.singles[0].status = revoked()),
                true,
                Some((RefusalReason::Revoked, AlertDescription::CERTIFICATE_REVOKED)),
            ),
        ] {
            let credential = own.with_ocsp_response(response);
            let server = ServerConfig::builder().credential(credential).build().unwrap();
            let client = client()
                .versions(&[version])
                .verifier(with_policy(OcspPolicy::Require))
                .request_ocsp(asks)
                .build()
                .unwrap();
            let outcome = Pair::new(&client, &server, NAME).connect();
            let Some((reason, reported)) = refused else {
                outcome.unwrap().talk();
                continue;
            };
            let failure = outcome.unwrap_err();
            assert_eq!(failure.client, Some(Error::Refused(reason)), "{version:?}");
            assert_eq!(failure.server, Some(Error::AlertReceived(reported)), "{version:?}");
        }
    }
}

/// A verifier that accepts all peers, and records whether a response was requested, the response,
/// and the timestamps.
#[derive(Default)]
struct RecordingVerifier(Mutex<Vec<Seen>>);

type Seen = (bool, Option<Vec<u8>>, Option<Vec<u8>>);

impl VerifyPeer for RecordingVerifier {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        self.0.lock().unwrap().push((
            identity.ocsp_requested,
            identity.ocsp_response.map(<[u8]>::to_vec),
            identity.signed_certificate_timestamps.map(<[u8]>::to_vec),
        ));
        Ok(())
    }
}

fn with_both(kind: Kind) -> Credential {
    let credential = credential(kind).ocsp_response(b"good".to_vec());
    credential.signed_certificate_timestamps(TIMESTAMPS.to_vec()).unwrap()
}

/// RFC 6962 3.3, 3.3.1
#[test]
fn a_servers_response_and_timestamps_are_sent_verbatim_on_request() {
    let server = ServerConfig::builder().credential(with_both(Kind::P256)).build().unwrap();
    for version in BOTH_VERSIONS {
        for (ocsp, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
            let verifier_log = Arc::new(RecordingVerifier::default());
            let client = client()
                .versions(&[version])
                .verifier(Policy::Here(Arc::clone(&verifier_log) as _))
                .request_ocsp(ocsp)
                .request_signed_certificate_timestamps(timestamps)
                .build()
                .unwrap();
            let info = Pair::new(&client, &server, NAME).connect().unwrap().client.connection.info;
            let expected =
                (ocsp, ocsp.then(|| b"good".to_vec()), timestamps.then(|| TIMESTAMPS.to_vec()));
            assert_eq!(info.ocsp_response, expected.1, "{version:?}");
            assert_eq!(info.signed_certificate_timestamps, expected.2, "{version:?}");
            assert_eq!(*verifier_log.0.lock().unwrap(), [expected], "{version:?}");
        }
    }
}

#[test]
fn a_clients_response_and_timestamps_are_sent_verbatim_on_request() {
    for version in BOTH_VERSIONS {
        for (ocsp, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
            let verifier_log = Arc::new(RecordingVerifier::default());
            let server = server()
                .client_verifier(ClientAuth::Required, Policy::Here(Arc::clone(&verifier_log) as _))
                .request_ocsp(ocsp)
                .request_signed_certificate_timestamps(timestamps)
                .build()
                .unwrap();
            let client =
                client().versions(&[version]).credential(with_both(Kind::Ed25519)).build().unwrap();
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            ends.talk();
            // In TLS 1.2 a server cannot request a response or timestamps from a client.
            let can_ask = version == TLS13;
            let expected = (
                ocsp && can_ask,
                (ocsp && can_ask).then(|| b"good".to_vec()),
                (timestamps && can_ask).then(|| TIMESTAMPS.to_vec()),
            );
            let info = &ends.server.connection.info;
            assert_eq!(info.ocsp_response, expected.1, "{version:?}");
            assert_eq!(info.signed_certificate_timestamps, expected.2, "{version:?}");
            assert_eq!(*verifier_log.0.lock().unwrap(), [expected], "{version:?}");
        }
    }
}

#[test]
fn a_question_about_a_client_has_its_response() {
    let server = server()
        .client_verifier(ClientAuth::Required, Policy::Ask)
        .request_ocsp(true)
        .build()
        .unwrap();
    let client = client().versions(&[TLS13]).credential(with_both(Kind::P256)).build().unwrap();
    let verifier_log = RecordingVerifier::default();
    let resolve = |_: Side, question: Question| -> Answer {
        let Question::VerifyPeer(question) = question else { panic!("{question:?}") };
        question.resolve(&verifier_log)
    };
    Pair::new(&client, &server, NAME).answering(resolve).connect().unwrap().talk();
    assert_eq!(*verifier_log.0.lock().unwrap(), [(true, Some(b"good".to_vec()), None)]);
}

/// A server that requests OCSP responses from clients and requires them.
fn server_requiring_responses() -> ServerConfigBuilder {
    server()
        .client_verifier(ClientAuth::Required, with_policy(OcspPolicy::Require))
        .request_ocsp(true)
}

#[test]
fn a_server_can_require_responses_of_its_clients() {
    let server = server_requiring_responses().build().unwrap();
    let own = credential(Kind::P256);
    for (shown, refused) in [
        (stapled(own.with_ocsp_response(Vec::new())), None),
        (own.with_ocsp_response(b"bad".to_vec()), Some(RefusalReason::StapleMalformed)),
        (own.with_ocsp_response(Vec::new()), Some(RefusalReason::StapleRequired)),
    ] {
        let client = client().versions(&[TLS13]).credential(shown).build().unwrap();
        let outcome = Pair::new(&client, &server, NAME).connect();
        assert_eq!(outcome.err().and_then(|failure| failure.server), refused.map(Error::Refused));
    }
    // In TLS 1.2 a server cannot request a response, so it cannot require one.
    let client = client().versions(&[TLS12]).credential(stapled(own)).build().unwrap();
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(Error::Refused(RefusalReason::StapleRequired)));
}

#[test]
fn a_session_keeps_the_clients_response_until_it_expires() {
    struct ManualClock(Mutex<u64>);
    impl Clock for ManualClock {
        fn now(&self) -> UnixTime {
            UnixTime::since_unix_epoch(Duration::from_secs(*self.0.lock().unwrap()))
        }
    }
    // 2026-05-28 12:00:00 UTC
    let clock = Arc::new(ManualClock(Mutex::new(1_779_969_600)));
    let server = server_requiring_responses().clock(clock.clone()).build().unwrap();
    let own = credential(Kind::P256);
    let until_two = response(&leaf(&own), |response| {
        response.singles[0].next_update = Some("20260528140000Z".into());
    });
    let shown = own.with_ocsp_response(until_two);
    let client =
        client().versions(&[TLS13]).clock(clock.clone()).credential(shown).build().unwrap();
    let visit = || {
        let mut ends = Pair::new(&client, &server, NAME).connect()?;
        ends.talk();
        assert!(ends.server.connection.info.ocsp_response.is_some());
        Ok(ends.server.connection.info.resumed)
    };
    assert_eq!(visit(), Ok(false));
    assert_eq!(visit(), Ok(true));
    *clock.0.lock().unwrap() += 2 * 3600 + 301;
    // The session is not resumed, and in the full handshake the client's response has expired.
    let failure: crate::pair::Failure = visit().unwrap_err();
    let refused =
        matches!(failure.server, Some(Error::Refused(RefusalReason::StapleExpired { .. })));
    assert!(refused, "{failure:?}");
}
