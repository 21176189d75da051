//! The provider has the same parts as rustls' own, so that a program's behaviour does not change.

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{NamedGroup, SupportedCipherSuite};
use tercel_rustls::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, DEFAULT_KX_GROUPS, default_provider};

fn suites(provider: &CryptoProvider) -> Vec<SupportedCipherSuite> {
    provider.cipher_suites.clone()
}

#[test]
fn suites_and_their_order_are_equal() {
    let (ours, theirs) = (default_provider(), aws_lc_rs::default_provider());
    // The comparison is by name.
    assert_eq!(suites(&ours), suites(&theirs));
    assert_eq!(ALL_CIPHER_SUITES, aws_lc_rs::ALL_CIPHER_SUITES);
    for (ours, theirs) in ALL_CIPHER_SUITES.iter().zip(aws_lc_rs::ALL_CIPHER_SUITES) {
        let limit = |suite: &SupportedCipherSuite| match suite {
            SupportedCipherSuite::Tls12(suite) => suite.common.confidentiality_limit,
            SupportedCipherSuite::Tls13(suite) => suite.common.confidentiality_limit,
        };
        assert_eq!(limit(ours), limit(theirs));
        if let (SupportedCipherSuite::Tls12(ours), SupportedCipherSuite::Tls12(theirs)) =
            (ours, theirs)
        {
            assert_eq!(ours.sign, theirs.sign);
            let [ours, theirs] = [ours, theirs].map(|suite| suite.aead_alg.key_block_shape());
            assert_eq!(ours.enc_key_len, theirs.enc_key_len);
            assert_eq!(ours.fixed_iv_len, theirs.fixed_iv_len);
            assert_eq!(ours.explicit_nonce_len, theirs.explicit_nonce_len);
        }
    }
}

#[test]
fn all_of_their_groups_are_there() {
    let theirs = aws_lc_rs::ALL_KX_GROUPS.iter().map(|group| group.name());
    let ours: Vec<_> = ALL_KX_GROUPS.iter().map(|group| group.name()).collect();
    for group in theirs {
        assert!(ours.contains(&group), "{group:?}");
    }
    let defaults: Vec<_> = DEFAULT_KX_GROUPS.iter().map(|group| group.name()).collect();
    let expected = [
        NamedGroup::X25519MLKEM768,
        NamedGroup::X25519,
        NamedGroup::secp256r1,
        NamedGroup::secp384r1,
    ];
    assert_eq!(defaults, expected);
}

#[test]
fn signature_algorithms_and_their_order_are_equal() {
    let [ours, theirs] = [default_provider(), aws_lc_rs::default_provider()]
        .map(|provider| provider.signature_verification_algorithms);
    assert_eq!(ours.supported_schemes(), theirs.supported_schemes());
    let ids = |all: &[&'static dyn rustls::pki_types::SignatureVerificationAlgorithm]| {
        let ids = all.iter().map(|one| (one.public_key_alg_id(), one.signature_alg_id()));
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(ours.all), ids(theirs.all));
    for ((_, ours), (_, theirs)) in ours.mapping.iter().zip(theirs.mapping) {
        assert_eq!(ids(ours), ids(theirs));
    }
}

#[test]
fn nothing_claims_fips() {
    let provider = default_provider();
    assert!(!provider.fips());
    assert!(provider.cipher_suites.iter().all(|suite| !suite.fips()));
    assert!(!provider.signature_verification_algorithms.fips());
    assert!(!provider.secure_random.fips() && !provider.key_provider.fips());
}

#[test]
fn random_bytes_differ() {
    let draw = || {
        let mut bytes = [0; 32];
        default_provider().secure_random.fill(&mut bytes).unwrap();
        bytes
    };
    assert_ne!(draw(), draw());
}
