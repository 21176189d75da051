//! Raw public keys in place of certificates, on either side, in both versions. RFC 7250
//!
//! For: agreeing on a form, showing it, judging it. Must not know: message layouts.
//! Next: `pair.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tercel::crypto::SigningKey;
use tercel::pki::{Refusal, RefusalReason};
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel::wire::{
    AlertDescription, CertificateType, ExtensionType, HandshakeMessage, ProtocolVersion,
    ServerHello,
};
use tercel::{
    AcceptAnyPeer, ClientAuth, ClientConfig, ClientConfigBuilder, ConfigError, Credential,
    CredentialError, Error, Peer, PeerIdentity, Policy, ServerConfig, ServerConfigBuilder,
    TrustedRawKeys, VerifyPeer,
};

use crate::identity::{self, KINDS, Kind, NAME, credential, leaf, roots};
use crate::pair::{Delivery, Ends, Failure, Pair, first_message};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
const X509: CertificateType = CertificateType::X509;

fn key(kind: Kind) -> (SubjectPublicKeyInfoDer<'static>, PrivateKeyDer<'static>) {
    let (_, private) = leaf(kind, &[NAME]);
    let public = SigningKey::from_der(&private).unwrap().public_key_spki();
    (public.into(), PrivateKeyDer::Pkcs8(private.into()))
}

pub(crate) fn public(kind: Kind) -> SubjectPublicKeyInfoDer<'static> {
    key(kind).0
}

pub(crate) fn raw(kind: Kind) -> Credential {
    let (public, private) = key(kind);
    Credential::raw_public_key(public, &private).unwrap()
}

/// A client that trusts this server's key and nobody else.
fn client_of(kind: Kind, version: ProtocolVersion) -> ClientConfigBuilder {
    ClientConfig::builder().trusted_raw_keys(vec![public(kind)]).versions(&[version])
}

fn server_with(credentials: impl IntoIterator<Item = Credential>) -> ServerConfigBuilder {
    credentials.into_iter().fold(ServerConfig::builder(), ServerConfigBuilder::credential)
}

fn connect(client: ClientConfigBuilder, server: ServerConfigBuilder) -> Result<Ends, Failure> {
    Pair::new(&client.build().unwrap(), &server.build().unwrap(), NAME).connect()
}

fn error(peer: Peer) -> Option<Error> {
    Some(Error::Peer(peer))
}

#[test]
fn a_server_shows_a_key_of_each_kind() {
    for version in VERSIONS {
        for kind in KINDS {
            let mut ends = connect(client_of(kind, version), server_with([raw(kind)])).unwrap();
            let facts = &ends.client.connection.facts;
            assert_eq!(facts.version, version);
            assert_eq!(facts.server_certificate_type, RAW);
            assert_eq!(facts.peer_raw_public_key, Some(public(kind)));
            assert!(facts.peer_chain().is_empty());
            assert_eq!(ends.server.connection.facts.server_certificate_type, RAW);
            ends.talk();
        }
    }
}

#[test]
fn both_sides_show_keys_one_byte_at_a_time() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version).credential(raw(Kind::Ed25519));
        let trusted = vec![public(Kind::P384), public(Kind::Ed25519)];
        let server = server_with([raw(Kind::P256)]).client_raw_keys(ClientAuth::Required, trusted);
        let (client, server) = (client.build().unwrap(), server.build().unwrap());
        let pair = Pair::new(&client, &server, NAME).delivery(Delivery::Bytes);
        let mut ends = pair.connect().unwrap();
        let facts = &ends.server.connection.facts;
        assert_eq!(facts.client_certificate_type, RAW);
        assert_eq!(facts.peer_raw_public_key, Some(public(Kind::Ed25519)));
        assert_eq!(ends.client.connection.facts.client_certificate_type, RAW);
        ends.talk();
    }
}

#[test]
fn a_key_for_the_one_and_a_chain_for_the_other() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version).credential(credential(Kind::P384));
        let server = server_with([raw(Kind::P256)]).client_auth(ClientAuth::Required, roots());
        let ends = connect(client, server).unwrap();
        assert_eq!(ends.server.connection.facts.peer_chain().len(), 1);
        assert_eq!(ends.server.connection.facts.client_certificate_type, X509);

        let client = identity::client().versions(&[version]).credential(raw(Kind::P384));
        let trusted = vec![public(Kind::P384)];
        let server = identity::server().client_raw_keys(ClientAuth::Required, trusted);
        let ends = connect(client, server).unwrap();
        assert_eq!(ends.server.connection.facts.peer_raw_public_key, Some(public(Kind::P384)));
        assert_eq!(ends.client.connection.facts.peer_chain().len(), 1);
    }
}

#[test]
fn an_unknown_key_is_refused() {
    for version in VERSIONS {
        let failure =
            connect(client_of(Kind::P384, version), server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.client, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
        let told = Error::AlertReceived(AlertDescription::CERTIFICATE_UNKNOWN);
        assert_eq!(failure.server, Some(told));

        let client = client_of(Kind::P256, version).credential(raw(Kind::P521));
        let trusted = vec![public(Kind::P384)];
        let server = server_with([raw(Kind::P256)]).client_raw_keys(ClientAuth::Required, trusted);
        let failure = connect(client, server).unwrap_err();
        assert_eq!(failure.server, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
    }
}

#[test]
fn the_server_s_order_decides_among_what_the_client_accepts() {
    for version in VERSIONS {
        for (types, order, expected) in [
            (&[RAW, X509][..], [RAW, X509], RAW),
            (&[X509, RAW], [RAW, X509], RAW),
            (&[RAW, X509], [X509, RAW], X509),
            (&[RAW], [X509, RAW], RAW),
            (&[X509], [RAW, X509], X509),
        ] {
            let client = identity::client()
                .versions(&[version])
                .trusted_raw_keys(vec![public(Kind::P256)])
                .server_certificate_types(types);
            let server = server_with(order.map(|kind| match kind {
                RAW => raw(Kind::P256),
                _ => credential(Kind::P384),
            }));
            let ends = connect(client, server).unwrap();
            let facts = &ends.client.connection.facts;
            assert_eq!(facts.server_certificate_type, expected, "{types:?} {order:?}");
            assert_eq!(facts.peer_raw_public_key.is_some(), expected == RAW);
        }
    }
}

#[test]
fn without_a_common_type_nobody_connects() {
    for version in VERSIONS {
        let none_in_common = error(Peer::NoCommonCertificateType);
        // The client accepts keys only, and then chains only.
        let failure =
            connect(client_of(Kind::P256, version), server_with([credential(Kind::P256)]));
        assert_eq!(failure.unwrap_err().server, none_in_common);
        let client = identity::client().versions(&[version]);
        let failure = connect(client, server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.server, none_in_common);
        let told = Error::AlertReceived(AlertDescription::UNSUPPORTED_CERTIFICATE);
        assert_eq!(failure.client, Some(told));
        // The server wants a key of a client that has a chain to show.
        for demand in [ClientAuth::Optional, ClientAuth::Required] {
            let client = identity::client().versions(&[version]).credential(credential(Kind::P256));
            let server = identity::server().client_raw_keys(demand, vec![public(Kind::P256)]);
            assert_eq!(connect(client, server).unwrap_err().server, none_in_common);
        }
        // And a chain of one that has a key.
        let client = identity::client().versions(&[version]).credential(raw(Kind::P256));
        let server = identity::server().client_auth(ClientAuth::Required, roots());
        assert_eq!(connect(client, server).unwrap_err().server, none_in_common);
    }
}

#[test]
fn a_client_of_both_forms_shows_the_one_the_server_prefers() {
    for version in VERSIONS {
        for (types, expected) in [(&[RAW, X509][..], RAW), (&[X509, RAW], X509), (&[X509], X509)] {
            let own = vec![raw(Kind::P256), credential(Kind::P384)];
            let client = identity::client()
                .versions(&[version])
                .credentials(Policy::Here(std::sync::Arc::new(tercel::Credentials::new(own))))
                .client_certificate_types(&[X509, RAW]);
            let server = identity::server()
                .client_auth(ClientAuth::Required, roots())
                .client_raw_keys(ClientAuth::Required, vec![public(Kind::P256)])
                .client_certificate_types(types);
            let ends = connect(client, server).unwrap();
            let facts = &ends.server.connection.facts;
            assert_eq!(facts.client_certificate_type, expected);
            assert_eq!(facts.peer_raw_public_key.is_some(), expected == RAW);
        }
    }
}

#[test]
fn a_client_without_a_key_may_decline() {
    for version in VERSIONS {
        let client = || {
            let types = [RAW];
            identity::client().versions(&[version]).client_certificate_types(&types)
        };
        let server = |demand| identity::server().client_raw_keys(demand, vec![public(Kind::P256)]);
        let ends = connect(client(), server(ClientAuth::Optional)).unwrap();
        assert_eq!(ends.server.connection.facts.peer_raw_public_key, None);
        let failure = connect(client(), server(ClientAuth::Required)).unwrap_err();
        let expected = match version {
            ProtocolVersion::TLS1_3 => Peer::CertificateRequired,
            _ => Peer::CertificateRequiredTls12,
        };
        assert_eq!(failure.server, error(expected));
    }
}

#[test]
fn a_server_that_asks_for_nothing_need_not_know_the_client_s_type() {
    for version in VERSIONS {
        let client = identity::client().versions(&[version]).credential(raw(Kind::P256));
        connect(client, identity::server()).unwrap().talk();
    }
}

#[test]
fn an_answer_the_client_did_not_offer_is_refused() {
    // A key in place of the chain agreed on: the first two bytes of the answer's body are its type.
    let client = client_of(Kind::P256, ProtocolVersion::TLS1_2);
    let (client, server) = (client.build().unwrap(), server_with([raw(Kind::P256)]));
    let answer = |chosen: u8| [0, 20, 0, 1, chosen];
    let tap = |bytes: &mut Vec<u8>| {
        if let Some(at) = bytes.windows(5).position(|window| window == answer(2)) {
            bytes[at..at + 5].copy_from_slice(&answer(0));
        }
    };
    let server = server.build().unwrap();
    let failure = Pair::new(&client, &server, NAME).tap_to_client(tap).connect().unwrap_err();
    assert_eq!(failure.client, error(Peer::NoCommonCertificateType));
    let told = Error::AlertReceived(AlertDescription::UNSUPPORTED_CERTIFICATE);
    assert_eq!(failure.server, Some(told));
}

#[test]
fn a_key_damaged_on_the_way_is_refused() {
    // TLS 1.2 sends it in the clear.
    let spki = public(Kind::P256);
    for at in 0..spki.len() {
        let client = client_of(Kind::P256, ProtocolVersion::TLS1_2).build().unwrap();
        let server = server_with([raw(Kind::P256)]).build().unwrap();
        let tap = |bytes: &mut Vec<u8>| {
            let place = bytes.windows(spki.len()).position(|window| window == spki.as_ref());
            if let Some(start) = place {
                bytes[start + at] ^= 1;
            }
        };
        let failure = Pair::new(&client, &server, NAME).tap_to_client(tap).connect().unwrap_err();
        let refused = failure.client.unwrap();
        assert!(
            [
                Error::Peer(Peer::BadRawPublicKey),
                Error::Peer(Peer::BadSignature),
                Error::Refused(RefusalReason::UnsupportedKey),
            ]
            .contains(&refused),
            "{at}: {refused:?}"
        );
    }
}

#[test]
fn a_list_that_says_what_silence_says_is_refused() {
    for extension in
        [ExtensionType::SERVER_CERTIFICATE_TYPE, ExtensionType::CLIENT_CERTIFICATE_TYPE]
    {
        let client = identity::client()
            .trusted_raw_keys(vec![public(Kind::P256)])
            .server_certificate_types(&[RAW])
            .client_certificate_types(&[RAW])
            .build()
            .unwrap();
        let server = identity::server().build().unwrap();
        let [high, low] = extension.0.to_be_bytes();
        let tap = |bytes: &mut Vec<u8>| {
            let offer = [high, low, 0, 2, 1, 2];
            if let Some(at) = bytes.windows(6).position(|window| window == offer) {
                bytes[at + 5] = 0;
            }
        };
        let failure = Pair::new(&client, &server, NAME).tap_to_server(tap).connect().unwrap_err();
        assert_eq!(failure.server, error(Peer::PointlessCertificateType));
        let told = Error::AlertReceived(AlertDescription::ILLEGAL_PARAMETER);
        assert_eq!(failure.client, Some(told));
    }
}

#[test]
fn a_verifier_that_is_asked_sees_the_key() {
    for version in VERSIONS {
        let client = ClientConfig::builder()
            .verifier(Policy::Ask)
            .server_certificate_types(&[RAW])
            .versions(&[version])
            .build()
            .unwrap();
        let server = server_with([raw(Kind::P256)]).build().unwrap();
        let mut asked = 0;
        let resolve = |_, question| match question {
            tercel::Question::VerifyPeer(question) => {
                asked += 1;
                let identity = question.identity();
                assert_eq!(identity.raw_public_key, Some(public(Kind::P256).as_ref()));
                assert!(identity.chain.is_empty());
                question.resolve(&AcceptAnyPeer)
            }
            other => panic!("{other:?}"),
        };
        Pair::new(&client, &server, NAME).answering(resolve).connect().unwrap();
        assert_eq!(asked, 1);
    }
}

#[test]
fn a_verifier_of_chains_trusts_no_key() {
    for version in VERSIONS {
        let client = identity::client().versions(&[version]).server_certificate_types(&[RAW]);
        let failure = connect(client, server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.client, Some(Error::Refused(RefusalReason::EmptyChain)));
    }
}

#[test]
fn a_key_is_for_every_host_and_has_nothing_stapled() {
    let stapled = raw(Kind::P256)
        .ocsp_response(vec![1, 2, 3])
        .signed_certificate_timestamps(vec![0, 4, 0, 2, 8, 9])
        .unwrap();
    assert!(stapled.covers(NAME) && stapled.chain().is_empty());
    assert_eq!(stapled.certificate_type(), RAW);
    for version in VERSIONS {
        let stapled = raw(Kind::P256)
            .ocsp_response(vec![1, 2, 3])
            .signed_certificate_timestamps(vec![0, 4, 0, 2, 8, 9])
            .unwrap();
        let client = client_of(Kind::P256, version).request_signed_certificate_timestamps(true);
        let server = server_with([stapled]).require_known_name();
        let ends = connect(client, server).unwrap();
        let facts = &ends.client.connection.facts;
        assert_eq!((&facts.ocsp_response, &facts.signed_certificate_timestamps), (&None, &None));
    }
}

#[test]
fn credentials_and_configurations_that_cannot_work_are_refused() {
    let (public, private) = key(Kind::P256);
    let other = key(Kind::Ed25519).1;
    let refused = Credential::raw_public_key(public.clone(), &other).unwrap_err();
    assert_eq!(refused, CredentialError::KeyMismatch);
    let damaged = SubjectPublicKeyInfoDer::from(public.as_ref()[1..].to_vec());
    let refused = Credential::raw_public_key(damaged.clone(), &private).unwrap_err();
    assert_eq!(refused, CredentialError::BadPublicKey);
    let refused = Credential::remote_raw_public_key(damaged).unwrap_err();
    assert_eq!(refused, CredentialError::BadPublicKey);

    let refused = |client: ClientConfigBuilder| client.build().err();
    let nothing = ClientConfig::builder().trusted_raw_keys(Vec::new());
    assert_eq!(refused(nothing), Some(ConfigError::NothingTrusted));
    let asked = ClientConfig::builder().trusted_raw_keys(vec![public]).verifier(Policy::Ask);
    assert_eq!(refused(asked), Some(ConfigError::RawKeysBesideAsk));
    for types in [&[][..], &[CertificateType::OPEN_PGP]] {
        let client = identity::client().server_certificate_types(types);
        assert_eq!(refused(client), Some(ConfigError::BadCertificateTypes));
        let client = identity::client().client_certificate_types(types);
        assert_eq!(refused(client), Some(ConfigError::BadCertificateTypes));
        let server = identity::server().client_certificate_types(types);
        assert_eq!(server.build().err(), Some(ConfigError::BadCertificateTypes));
    }
}

#[test]
fn a_resumed_session_remembers_the_keys() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version)
            .verify_resumed(true)
            .credential(raw(Kind::Ed25519))
            .build()
            .unwrap();
        let trusted = vec![public(Kind::Ed25519)];
        let server = server_with([raw(Kind::P256)])
            .client_raw_keys(ClientAuth::Required, trusted)
            .build()
            .unwrap();
        for resumed in [false, true, true] {
            let mut answer = Vec::new();
            let mut ends = Pair::new(&client, &server, NAME)
                .tap_to_client(|bytes| answer.extend_from_slice(bytes))
                .connect()
                .unwrap();
            let (ours, theirs) = (&ends.client.connection.facts, &ends.server.connection.facts);
            assert_eq!((ours.resumed, theirs.resumed), (resumed, resumed), "{version:?}");
            // Said each time: silence would mean X.509. In TLS 1.3 it is said under protection.
            if version == ProtocolVersion::TLS1_2 {
                let body = first_message(&answer);
                let hello = ServerHello::parse(&body).unwrap();
                assert_eq!(hello.extensions.server_certificate_type, Some(RAW));
            }
            assert_eq!(ours.peer_raw_public_key, Some(public(Kind::P256)));
            assert_eq!((ours.server_certificate_type, theirs.server_certificate_type), (RAW, RAW));
            assert_eq!(theirs.peer_raw_public_key, Some(public(Kind::Ed25519)));
            ends.talk();
        }
    }
}

#[test]
fn a_stored_key_is_judged_again_as_a_chain_is() {
    for version in VERSIONS {
        let refuses = Arc::new(AtomicBool::new(false));
        let client = ClientConfig::builder()
            .verifier(Policy::Here(Arc::new(Fickle(refuses.clone()))))
            .server_certificate_types(&[RAW])
            .versions(&[version])
            .verify_resumed(true)
            .build()
            .unwrap();
        let server = server_with([raw(Kind::P256)]).build().unwrap();
        for resumed in [false, true] {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            assert_eq!(ends.client.connection.facts.resumed, resumed, "{version:?}");
            ends.talk();
        }
        // Refused now: a full handshake, which then fails for the same reason.
        refuses.store(true, Ordering::SeqCst);
        let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
        let refused = Error::Refused(RefusalReason::UntrustedRawKey);
        assert_eq!(failure.client, Some(refused), "{version:?}");
    }
}

/// Trusts every key until it is told not to.
struct Fickle(Arc<AtomicBool>);

impl VerifyPeer for Fickle {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        if !self.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        TrustedRawKeys::new(vec![public(Kind::P384)]).unwrap().verify_peer(identity)
    }
}

#[test]
fn a_key_no_longer_trusted_is_not_resumed() {
    for version in VERSIONS {
        let store = std::sync::Arc::new(tercel::MemoryStore::new(100));
        let client =
            identity::client().versions(&[version]).credential(raw(Kind::P384)).build().unwrap();
        let server = |kind| {
            let store = std::sync::Arc::clone(&store);
            let trusted = vec![public(kind)];
            let server = identity::server().session_store(Policy::Here(store));
            server.client_raw_keys(ClientAuth::Required, trusted).build().unwrap()
        };
        Pair::new(&client, &server(Kind::P384), NAME).connect().unwrap().talk();
        let failure = Pair::new(&client, &server(Kind::P521), NAME).connect().unwrap_err();
        assert_eq!(failure.server, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
    }
}
