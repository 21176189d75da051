//! Verification of raw keys, and configurations that are refused.

use tercel::pki::RefusalReason;
use tercel::pki_types::SubjectPublicKeyInfoDer;
use tercel::wire::{AlertDescription, CertificateType, ProtocolVersion};
use tercel::{
    ClientConfig, Credential, Error, Policy,
    certificates::{AcceptAnyPeer, CredentialError},
    client::ClientConfigBuilder,
    error::{ConfigError, PeerError},
    server::ClientAuth,
};

use super::{RAW, VERSIONS, client_of, connect, key, public, raw, server_with};
use crate::fixtures::{self, Kind, NAME};
use crate::pair::Pair;

#[test]
fn an_unknown_key_is_refused() {
    for version in VERSIONS {
        let failure =
            connect(client_of(Kind::P384, version), server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.client, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
        let reported = Error::AlertReceived(AlertDescription::CERTIFICATE_UNKNOWN);
        assert_eq!(failure.server, Some(reported));

        let client = client_of(Kind::P256, version).credential(raw(Kind::P521));
        let trusted = vec![public(Kind::P384)];
        let server = server_with([raw(Kind::P256)]).client_raw_keys(ClientAuth::Required, trusted);
        let failure = connect(client, server).unwrap_err();
        assert_eq!(failure.server, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
    }
}

#[test]
fn a_damaged_key_is_refused() {
    // In TLS 1.2 the key is sent in plaintext.
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
                Error::Peer(PeerError::BadRawPublicKey),
                Error::Peer(PeerError::BadSignature),
                Error::Refused(RefusalReason::UnsupportedKey),
            ]
            .contains(&refused),
            "{at}: {refused:?}"
        );
    }
}

#[test]
fn a_question_for_a_verifier_has_the_key() {
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
fn a_chain_verifier_trusts_no_raw_key() {
    for version in VERSIONS {
        let client = fixtures::client().versions(&[version]).server_certificate_types(&[RAW]);
        let failure = connect(client, server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.client, Some(Error::Refused(RefusalReason::EmptyChain)));
    }
}

/// RFC 6125 6.4
#[test]
fn a_raw_key_is_for_every_host_and_has_no_ocsp_response() {
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
        let info = &ends.client.connection.info;
        assert_eq!((&info.ocsp_response, &info.signed_certificate_timestamps), (&None, &None));
    }
}

#[test]
fn conflicting_configurations_are_refused() {
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
    assert_eq!(refused(nothing), Some(ConfigError::NoTrustConfigured));
    let asked = ClientConfig::builder().trusted_raw_keys(vec![public]).verifier(Policy::Ask);
    assert_eq!(refused(asked), Some(ConfigError::RawKeysWithAsk));
    for types in [&[][..], &[CertificateType::OPEN_PGP]] {
        let client = fixtures::client().server_certificate_types(types);
        assert_eq!(refused(client), Some(ConfigError::BadCertificateTypes));
        let client = fixtures::client().client_certificate_types(types);
        assert_eq!(refused(client), Some(ConfigError::BadCertificateTypes));
        let server = fixtures::server().client_certificate_types(types);
        assert_eq!(server.build().err(), Some(ConfigError::BadCertificateTypes));
    }
}
