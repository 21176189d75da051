//! What travels with a certificate, in both directions: OCSP responses and timestamps.
//!
//! For: who asks, who answers, who judges, through a whole handshake. Must not know: how a response is read;
//! that is the pki crate's and tested there. Next: `identity.rs`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki::{ChainVerifier, OcspPolicy, Refusal, RefusalReason};
use tercel::pki_types::{CertificateDer, UnixTime};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Answer, ChainPolicy, ClientAuth, ClientMemoryStore, Clock, Credential, Error, PeerIdentity,
    Policy, Question, ServerConfig, ServerConfigBuilder, Side, VerifyPeer,
};

use crate::identity::{Kind, NAME, authority, client, credential, must_staple, roots, server};
use crate::ocsp_maker::{Response, Single, revoked, unknown};
use crate::pair::Pair;
use crate::resumption::visit;

const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];

/// A list of one timestamp of three bytes, as its RFC writes it.
const TIMESTAMPS: [u8; 7] = [0, 5, 0, 3, 7, 7, 7];

fn leaf(credential: &Credential) -> CertificateDer<'static> {
    credential.chain()[0].clone()
}

/// What the authority says of a leaf over OCSP: that it is good, for thousands of years, unless changed.
fn staple(leaf: &CertificateDer<'_>, change: impl FnOnce(&mut Response)) -> Vec<u8> {
    let (root, key) = authority();
    let issuer = tercel::pki::subject_public_key_info(&root).unwrap();
    let mut response =
        Response::new(Single::new(leaf, issuer, "20200101000000Z", "40000101000000Z"));
    change(&mut response);
    response.sign(&key)
}

/// With the authority's word that it is good.
fn stapled(credential: Credential) -> Credential {
    let response = staple(&leaf(&credential), |_| {});
    credential.ocsp_response(response)
}

fn judging(policy: OcspPolicy) -> Policy<dyn VerifyPeer> {
    let verifier = ChainVerifier::builder(Arc::new(roots())).ocsp_policy(policy).build().unwrap();
    Policy::Here(Arc::new(ChainPolicy::with_verifier(verifier)))
}

#[test]
fn a_leaf_that_demands_a_staple_needs_a_good_one_if_one_was_asked_for() {
    for version in BOTH_VERSIONS {
        let demanding = must_staple(Kind::P256);
        let of = |change: fn(&mut Response)| staple(&leaf(&demanding), change);
        // Another key, and so another serial number.
        let foreign = staple(&leaf(&credential(Kind::P384)), |_| {});
        let expired = of(|response| {
            response.singles[0].next_update = Some("20200102000000Z".into());
        });
        let next_update = UnixTime::since_unix_epoch(Duration::from_secs(1_577_923_200));
        for (response, refused) in [
            (of(|_| {}), None),
            (Vec::new(), Some(RefusalReason::MissingStaple)),
            (b"good".to_vec(), Some(RefusalReason::StapleMalformed)),
            (foreign, Some(RefusalReason::StapleForAnother)),
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
                    let told = AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE;
                    assert_eq!(failure.server, Some(Error::AlertReceived(told)));
                }
            }
            // A server that was not asked cannot have known.
            let silent = client().versions(&[version]).request_ocsp(false).build().unwrap();
            Pair::new(&silent, &server, NAME).connect().unwrap().talk();
        }
    }
}

/// A session made by a client that did not ask for a staple says nothing about the staple that the
/// certificate demands, so a client that asks for one does not resume it. RFC 7633 4.2.3
#[test]
fn a_session_made_without_asking_for_a_staple_is_not_offered_by_a_client_that_asks() {
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
fn a_client_that_requires_staples_refuses_a_server_without_a_good_one() {
    let own = credential(Kind::P256);
    let of = |change: fn(&mut Response)| staple(&leaf(&own), change);
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
                .verifier(judging(OcspPolicy::Require))
                .request_ocsp(asks)
                .build()
                .unwrap();
            let outcome = Pair::new(&client, &server, NAME).connect();
            let Some((reason, told)) = refused else {
                outcome.unwrap().talk();
                continue;
            };
            let failure = outcome.unwrap_err();
            assert_eq!(failure.client, Some(Error::Refused(reason)), "{version:?}");
            assert_eq!(failure.server, Some(Error::AlertReceived(told)), "{version:?}");
        }
    }
}

/// Accepts everybody, and remembers what went with their certificates: whether a staple was asked for, the
/// staple, the timestamps.
#[derive(Default)]
struct Witness(Mutex<Vec<Seen>>);

type Seen = (bool, Option<Vec<u8>>, Option<Vec<u8>>);

impl VerifyPeer for Witness {
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

#[test]
fn a_servers_staple_and_timestamps_go_verbatim_to_who_asks() {
    let server = ServerConfig::builder().credential(with_both(Kind::P256)).build().unwrap();
    for version in BOTH_VERSIONS {
        for (ocsp, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
            let witness = Arc::new(Witness::default());
            let client = client()
                .versions(&[version])
                .verifier(Policy::Here(Arc::clone(&witness) as _))
                .request_ocsp(ocsp)
                .request_signed_certificate_timestamps(timestamps)
                .build()
                .unwrap();
            let facts =
                Pair::new(&client, &server, NAME).connect().unwrap().client.connection.facts;
            let expected =
                (ocsp, ocsp.then(|| b"good".to_vec()), timestamps.then(|| TIMESTAMPS.to_vec()));
            assert_eq!(facts.ocsp_response, expected.1, "{version:?}");
            assert_eq!(facts.signed_certificate_timestamps, expected.2, "{version:?}");
            assert_eq!(*witness.0.lock().unwrap(), [expected], "{version:?}");
        }
    }
}

#[test]
fn a_clients_staple_and_timestamps_go_verbatim_to_who_asks() {
    for version in BOTH_VERSIONS {
        for (ocsp, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
            let witness = Arc::new(Witness::default());
            let server = server()
                .client_verifier(ClientAuth::Required, Policy::Here(Arc::clone(&witness) as _))
                .request_ocsp(ocsp)
                .request_signed_certificate_timestamps(timestamps)
                .build()
                .unwrap();
            let client =
                client().versions(&[version]).credential(with_both(Kind::Ed25519)).build().unwrap();
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            ends.talk();
            // TLS 1.2 has no way to ask a client.
            let can_ask = version == TLS13;
            let expected = (
                ocsp && can_ask,
                (ocsp && can_ask).then(|| b"good".to_vec()),
                (timestamps && can_ask).then(|| TIMESTAMPS.to_vec()),
            );
            let facts = &ends.server.connection.facts;
            assert_eq!(facts.ocsp_response, expected.1, "{version:?}");
            assert_eq!(facts.signed_certificate_timestamps, expected.2, "{version:?}");
            assert_eq!(*witness.0.lock().unwrap(), [expected], "{version:?}");
        }
    }
}

#[test]
fn who_is_asked_about_a_client_sees_its_staple() {
    let server = server()
        .client_verifier(ClientAuth::Required, Policy::Ask)
        .request_ocsp(true)
        .build()
        .unwrap();
    let client = client().versions(&[TLS13]).credential(with_both(Kind::P256)).build().unwrap();
    let witness = Witness::default();
    let resolve = |_: Side, question: Question| -> Answer {
        let Question::VerifyPeer(question) = question else { panic!("{question:?}") };
        question.resolve(&witness)
    };
    Pair::new(&client, &server, NAME).answering(resolve).connect().unwrap().talk();
    assert_eq!(*witness.0.lock().unwrap(), [(true, Some(b"good".to_vec()), None)]);
}

/// A server that asks its clients for staples and requires them.
fn requiring() -> ServerConfigBuilder {
    server().client_verifier(ClientAuth::Required, judging(OcspPolicy::Require)).request_ocsp(true)
}

#[test]
fn a_server_can_require_staples_of_its_clients() {
    let server = requiring().build().unwrap();
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
    // Where it cannot ask, nobody can have what it requires.
    let client = client().versions(&[TLS12]).credential(stapled(own)).build().unwrap();
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(Error::Refused(RefusalReason::StapleRequired)));
}

#[test]
fn a_session_keeps_the_clients_staple_until_it_expires() {
    struct Dial(Mutex<u64>);
    impl Clock for Dial {
        fn now(&self) -> UnixTime {
            UnixTime::since_unix_epoch(Duration::from_secs(*self.0.lock().unwrap()))
        }
    }
    // 2026-05-28 12:00:00 UTC
    let dial = Arc::new(Dial(Mutex::new(1_779_969_600)));
    let server = requiring().clock(dial.clone()).build().unwrap();
    let own = credential(Kind::P256);
    let until_two = staple(&leaf(&own), |response| {
        response.singles[0].next_update = Some("20260528140000Z".into());
    });
    let shown = own.with_ocsp_response(until_two);
    let client = client().versions(&[TLS13]).clock(dial.clone()).credential(shown).build().unwrap();
    let visit = || {
        let mut ends = Pair::new(&client, &server, NAME).connect()?;
        ends.talk();
        assert!(ends.server.connection.facts.ocsp_response.is_some());
        Ok(ends.server.connection.facts.resumed)
    };
    assert_eq!(visit(), Ok(false));
    assert_eq!(visit(), Ok(true));
    *dial.0.lock().unwrap() += 2 * 3600 + 301;
    // Not resumed; and in the full handshake that follows, the client has nothing better to show.
    let failure: crate::pair::Failure = visit().unwrap_err();
    let refused =
        matches!(failure.server, Some(Error::Refused(RefusalReason::StapleExpired { .. })));
    assert!(refused, "{failure:?}");
}
