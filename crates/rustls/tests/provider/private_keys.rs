//! Private keys, their schemes, and the verification of what they sign.

use std::sync::Arc;

use rcgen::{KeyPair, PublicKeyData};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{
    PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, SignatureVerificationAlgorithm,
};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{Error, InconsistentKeys, SignatureAlgorithm, SignatureScheme};
use tercel_rustls::default_provider;
use tercel_rustls::sign::{any_ecdsa_type, any_eddsa_type, any_supported_type};

use crate::support::Identity;

const EVERY_SCHEME: [SignatureScheme; 13] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::ML_DSA_44,
    SignatureScheme::ML_DSA_65,
    SignatureScheme::ML_DSA_87,
];

fn pkcs8(algorithm: &'static rcgen::SignatureAlgorithm) -> (KeyPair, PrivateKeyDer<'static>) {
    let pair = KeyPair::generate_for(algorithm).unwrap();
    let der = PrivateKeyDer::Pkcs8(pair.serialize_der().into());
    (pair, der)
}

/// The algorithms of a scheme, in this provider and in rustls' own.
fn verifiers(scheme: SignatureScheme) -> Vec<&'static dyn SignatureVerificationAlgorithm> {
    [default_provider(), aws_lc_rs::default_provider()]
        .iter()
        .flat_map(|provider| provider.signature_verification_algorithms.mapping)
        .filter(|(name, _)| *name == scheme)
        .map(|(_, algorithms)| algorithms[0])
        .collect()
}

#[test]
fn every_scheme_of_a_key_verifies_here_and_in_aws_lc_rs() {
    let mut used = Vec::new();
    for algorithm in [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_ED25519,
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_ML_DSA_44,
        &rcgen::PKCS_ML_DSA_65,
        &rcgen::PKCS_ML_DSA_87,
    ] {
        let (pair, der) = pkcs8(algorithm);
        let key = any_supported_type(&der).unwrap();
        for scheme in EVERY_SCHEME {
            let Some(signer) = key.choose_scheme(&[SignatureScheme::ED448, scheme]) else {
                continue;
            };
            used.push(scheme);
            assert_eq!(signer.scheme(), scheme);
            let signature = signer.sign(b"message").unwrap();
            let all = verifiers(scheme);
            assert_eq!(all.len(), 2, "{scheme:?}");
            for verifier in all {
                let verify = |key: &[u8], message: &[u8], signature: &[u8]| {
                    verifier.verify_signature(key, message, signature).is_ok()
                };
                let public = pair.der_bytes();
                assert!(verify(public, b"message", &signature), "{scheme:?}");
                assert!(!verify(public, b"messages", &signature));
                assert!(!verify(public, b"message", &signature[1..]));
                assert!(!verify(&public[1..], b"message", &signature));
                let mut changed = signature.clone();
                *changed.last_mut().unwrap() ^= 1;
                assert!(!verify(public, b"message", &changed));
            }
        }
    }
    used.sort_by_key(|scheme| u16::from(*scheme));
    let mut every = EVERY_SCHEME;
    every.sort_by_key(|scheme| u16::from(*scheme));
    assert_eq!(used, every);
}

#[test]
fn keys_prefer_the_schemes_that_rustls_prefers() {
    let chosen = |key: &Arc<dyn SigningKey>, offered: &[SignatureScheme]| {
        key.choose_scheme(offered).map(|signer| signer.scheme())
    };
    for (algorithm, kind) in [
        (&rcgen::PKCS_RSA_SHA256, SignatureAlgorithm::RSA),
        (&rcgen::PKCS_ECDSA_P384_SHA384, SignatureAlgorithm::ECDSA),
        (&rcgen::PKCS_ED25519, SignatureAlgorithm::ED25519),
        (&rcgen::PKCS_ML_DSA_65, SignatureAlgorithm::Unknown(0)),
    ] {
        let (_, der) = pkcs8(algorithm);
        let key = any_supported_type(&der).unwrap();
        let theirs = aws_lc_rs::sign::any_supported_type(&der).unwrap();
        assert_eq!((key.algorithm(), theirs.algorithm()), (kind, kind));
        assert_eq!(key.public_key(), theirs.public_key());
        for offered in [&EVERY_SCHEME[..], &EVERY_SCHEME[..7], &EVERY_SCHEME[..5], &[]] {
            assert_eq!(chosen(&key, offered), chosen(&theirs, offered), "{offered:?}");
        }
    }
}

#[test]
fn a_function_for_one_kind_refuses_others() {
    let (_, rsa) = pkcs8(&rcgen::PKCS_RSA_SHA256);
    let (_, ecdsa) = pkcs8(&rcgen::PKCS_ECDSA_P256_SHA256);
    let (_, ed25519) = pkcs8(&rcgen::PKCS_ED25519);
    let as_pkcs8 = |der: &PrivateKeyDer<'_>| PrivatePkcs8KeyDer::from(der.secret_der().to_vec());
    assert!(any_ecdsa_type(&ecdsa).is_ok());
    assert!(any_ecdsa_type(&rsa).is_err() && any_ecdsa_type(&ed25519).is_err());
    assert!(any_eddsa_type(&as_pkcs8(&ed25519)).is_ok());
    assert!(any_eddsa_type(&as_pkcs8(&rsa)).is_err() && any_eddsa_type(&as_pkcs8(&ecdsa)).is_err());
}

#[test]
fn an_rsa_key_in_pkcs1_is_the_same_key() {
    let (_, der) = pkcs8(&rcgen::PKCS_RSA_SHA256);
    // PrivateKeyInfo of RSA-2048 has 26 bytes before the RSAPrivateKey. RFC 5208 5
    let inner = der.secret_der()[26..].to_vec();
    let inner = PrivateKeyDer::Pkcs1(PrivatePkcs1KeyDer::from(inner));
    let [one, other] = [&der, &inner].map(|der| any_supported_type(der).unwrap());
    assert_eq!(one.public_key(), other.public_key());
}

#[test]
fn keys_that_rustls_has_no_scheme_for_are_refused() {
    let refusal = |der: &PrivateKeyDer<'_>| match any_supported_type(der) {
        Err(Error::General(text)) => text,
        other => panic!("{other:?}"),
    };
    let garbage = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(vec![0x30, 0]));
    assert_eq!(refusal(&garbage), "the private key cannot be used: invalid key");
    // The RSAPrivateKey under id-RSASSA-PSS. RFC 4055 3.1
    let (_, rsa) = pkcs8(&rcgen::PKCS_RSA_SHA256);
    let pss = [0x30, 0x0b, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10];
    let content = [&[2, 1, 0], &pss[..], &rsa.secret_der()[22..]].concat();
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let der = [&[0x30, 0x82], &length[..], &content].concat();
    let text = "the private key cannot be used: algorithm not supported by this key";
    assert_eq!(refusal(&PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der))), text);
}

#[test]
fn a_key_has_to_match_its_certificate() {
    let (one, other) = (Identity::rsa(), Identity::rsa());
    let certified = |chain: &Identity, key: &Identity| {
        CertifiedKey::from_der(chain.chain.clone(), key.key.clone_key(), &default_provider())
    };
    certified(&one, &one).unwrap();
    let error = certified(&one, &other).unwrap_err();
    assert_eq!(error, Error::InconsistentKeys(InconsistentKeys::KeyMismatch));
}

#[test]
fn debug_shows_no_key() {
    let (_, der) = pkcs8(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = any_supported_type(&der).unwrap();
    let shown = format!("{key:?} {:?}", key.choose_scheme(&EVERY_SCHEME).unwrap());
    assert!(shown.contains("SigningKey(EcdsaP256, 256 bits, ..)"), "{shown}");
}
