//! Handshakes with each suite, group and kind of key, and with rustls' own provider on either side.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, Error, HandshakeKind, NamedGroup, ServerConfig,
    SupportedProtocolVersion,
};
use tercel_rustls::{
    ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider, kx_group, with_signature_memory,
};

use crate::support::{Identity, Pair, Provider};

#[test]
fn every_suite_carries_data() {
    let (rsa, ecdsa) = (Identity::rsa(), Identity::p256());
    for suite in ALL_CIPHER_SUITES {
        let is_rsa = suite.suite().as_str().unwrap().contains("RSA");
        let is_ecdsa = suite.suite().as_str().unwrap().contains("ECDSA");
        let identity = if is_rsa && !is_ecdsa { &rsa } else { &ecdsa };
        let versions = [suite.version()];
        for (client, server) in Provider::PAIRS {
            let mut pair = Pair::connected(
                identity.client(client.with_suite(*suite), &versions),
                identity.server(server.with_suite(*suite), &versions),
            )
            .unwrap();
            let negotiated = pair.client.negotiated_cipher_suite().unwrap();
            assert_eq!(negotiated.suite(), suite.suite());
            pair.exchange_data();
            // Both sides derive the same secrets.
            let mut exported = [[0; 32]; 2];
            for (out, end) in exported.iter_mut().zip([&pair.client, &pair.server]) {
                end.export_keying_material(out, b"label", Some(b"context")).unwrap();
            }
            assert_eq!(exported[0], exported[1], "{client:?} {server:?} {suite:?}");
        }
    }
}

#[test]
fn every_group_is_negotiated() {
    let identity = Identity::p256();
    let mut both = 0;
    for group in ALL_KX_GROUPS {
        for version in [&TLS12, &TLS13] {
            if !group.usable_for_version(version.version) {
                continue;
            }
            for (client, server) in Provider::PAIRS {
                let (Some(of_client), Some(of_server)) =
                    (client.with_group(*group), server.with_group(*group))
                else {
                    continue;
                };
                both += usize::from(client != server);
                let mut pair = Pair::connected(
                    identity.client(of_client, &[version]),
                    identity.server(of_server, &[version]),
                )
                .unwrap();
                for end in [&pair.client, &pair.server] {
                    let negotiated = end.negotiated_key_exchange_group().unwrap();
                    assert_eq!(negotiated.name(), group.name(), "{client:?} {server:?}");
                }
                pair.exchange_data();
            }
        }
    }
    // The seven groups of rustls' own provider in TLS 1.3, and three in TLS 1.2.
    assert_eq!(both, 2 * (7 + 3));
}

#[test]
fn every_kind_of_key_authenticates_both_sides() {
    let every = [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_ED25519,
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_RSA_SHA384,
        &rcgen::PKCS_RSA_SHA512,
    ];
    let for_tls13 = [&rcgen::PKCS_ML_DSA_44, &rcgen::PKCS_ML_DSA_65, &rcgen::PKCS_ML_DSA_87];
    for (algorithms, versions) in [(&every[..], &[&TLS12, &TLS13][..]), (&for_tls13, &[&TLS13])] {
        for algorithm in algorithms {
            authenticate(&Identity::new(algorithm), versions);
        }
    }
}

/// Connects a client and a server that both have this identity.
fn authenticate(identity: &Identity, versions: &[&'static SupportedProtocolVersion]) {
    for version in versions {
        for (client, server) in Provider::PAIRS {
            let pair = Pair::connected(
                authenticating(identity, client.default(), version),
                requiring_authentication(identity, server.default(), version),
            )
            .unwrap();
            assert_eq!(pair.server.peer_certificates().unwrap(), identity.chain);
            assert_eq!(pair.client.peer_certificates().unwrap(), identity.chain);
        }
    }
}

/// A client with a certificate.
fn authenticating(
    identity: &Identity,
    provider: CryptoProvider,
    version: &'static SupportedProtocolVersion,
) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(Arc::clone(&identity.roots))
        .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
        .unwrap()
}

/// A server that requires a certificate.
fn requiring_authentication(
    identity: &Identity,
    provider: CryptoProvider,
    version: &'static SupportedProtocolVersion,
) -> ServerConfig {
    let provider = Arc::new(provider);
    let roots = Arc::clone(&identity.roots);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(identity.chain.clone(), identity.key.clone_key())
        .unwrap()
}

/// A client's share of X25519MLKEM768 contains one of X25519, which costs no second round trip.
#[test]
fn a_server_without_the_hybrid_selects_its_component() {
    let identity = Identity::p256();
    for (client, server) in Provider::PAIRS {
        let server = server.with_group(kx_group::X25519).unwrap();
        let mut of_client = client.default();
        of_client.kx_groups = [kx_group::X25519MLKEM768, kx_group::X25519]
            .map(|group| client.with_group(group).unwrap().kx_groups[0])
            .to_vec();
        let pair = Pair::connected(
            identity.client(of_client, &[&TLS13]),
            identity.server(server, &[&TLS13]),
        )
        .unwrap();
        assert_eq!(pair.client.handshake_kind(), Some(HandshakeKind::Full));
        let negotiated = pair.client.negotiated_key_exchange_group().unwrap();
        assert_eq!(negotiated.name(), NamedGroup::X25519);
    }
}

/// RFC 9846 4.2.4
#[test]
fn a_server_can_request_another_group() {
    let identity = Identity::p256();
    for (client, server) in Provider::PAIRS {
        let pair = Pair::connected(
            identity.client(client.default(), &[&TLS13]),
            identity.server(server.with_group(kx_group::SECP384R1).unwrap(), &[&TLS13]),
        )
        .unwrap();
        let kind = pair.client.handshake_kind();
        assert_eq!(kind, Some(HandshakeKind::FullWithHelloRetryRequest), "{client:?} {server:?}");
    }
}

#[test]
fn a_memory_of_signatures_changes_no_decision() {
    let (identity, other) = (Identity::rsa(), Identity::rsa());
    let provider = with_signature_memory(default_provider(), 64).unwrap();
    let client = || identity.client(provider.clone(), &[&TLS13]);
    let server = |identity: &Identity| identity.server(default_provider(), &[&TLS13]);
    for _ in 0..3 {
        Pair::connected(client(), server(&identity)).unwrap();
        let refused = Pair::connected(client(), server(&other)).map(|_| ()).unwrap_err();
        let issuer = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let signature = Error::InvalidCertificate(CertificateError::BadSignature);
        assert!([issuer, signature].contains(&refused), "{refused:?}");
    }
    // A signature that is in the memory does not authenticate a server without the key.
    let mut impostor = server(&identity);
    let stolen = rustls::sign::CertifiedKey::new(
        identity.chain.clone(),
        tercel_rustls::sign::any_supported_type(&other.key).unwrap(),
    );
    impostor.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(stolen));
    let refused = Pair::connected(client(), impostor).map(|_| ()).unwrap_err();
    assert_eq!(refused, Error::InvalidCertificate(CertificateError::BadSignature));
}
