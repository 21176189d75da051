//! ML-DSA: published vectors, every form of private key, and inputs that must be refused.

// Version 3 of the FIPS module has no ML-DSA.
#![cfg(not(fips_module_3))]

mod support;

use support::Vector;
use tercel_crypto::{CryptoError, KeyKind, PublicKey, SignatureAlgorithm as A, SigningKey};

const SETS: [(KeyKind, A); 3] = [
    (KeyKind::MlDsa44, A::MlDsa44),
    (KeyKind::MlDsa65, A::MlDsa65),
    (KeyKind::MlDsa87, A::MlDsa87),
];

fn set(vector: &Vector) -> (KeyKind, A) {
    let named =
        |(_, algorithm): &(KeyKind, A)| format!("{algorithm:?}") == vector.text("algorithm");
    SETS.into_iter().find(named).unwrap()
}

fn key_pairs() -> Vec<Vector> {
    let vectors = support::parse(include_str!("vectors/ml_dsa_keygen.txt"));
    assert_eq!(vectors.len(), SETS.len());
    vectors
}

/// A DER element.
fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u16::try_from(contents.len()).unwrap().to_be_bytes() {
        [0, short @ 0..0x80] => bytes.push(short),
        [0, long] => bytes.extend([0x81, long]),
        [high, low] => bytes.extend([0x82, high, low]),
    }
    bytes.extend(contents);
    bytes
}

/// AlgorithmIdentifier without parameters. RFC 9881 2
fn identifier(kind: KeyKind) -> Vec<u8> {
    let last = match kind {
        KeyKind::MlDsa44 => 17,
        KeyKind::MlDsa65 => 18,
        _ => 19,
    };
    element(0x30, &element(6, &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, last]))
}

fn pkcs8(kind: KeyKind, choice: &[u8]) -> Vec<u8> {
    element(0x30, &[vec![2, 1, 0], identifier(kind), element(4, choice)].concat())
}

fn spki(kind: KeyKind, public: &[u8]) -> Vec<u8> {
    element(0x30, &[identifier(kind), element(3, &[&[0], public].concat())].concat())
}

/// The three forms of RFC 9881 6: seed, expanded key, both.
fn forms(kind: KeyKind, seed: &[u8], expanded: &[u8]) -> [Vec<u8>; 3] {
    let both = element(0x30, &[element(4, seed), element(4, expanded)].concat());
    [element(0x80, seed), element(4, expanded), both].map(|choice| pkcs8(kind, &choice))
}

#[test]
fn every_form_of_private_key_gives_the_published_public_key_and_signs_for_it() {
    for vector in key_pairs() {
        let (kind, algorithm) = set(&vector);
        let public = PublicKey::from_raw(kind, &vector.bytes("public")).unwrap();
        assert_eq!((public.kind(), public.algorithms()), (kind, &[algorithm][..]));
        let spki = spki(kind, &vector.bytes("public"));
        assert_eq!(PublicKey::from_spki(&spki).unwrap().kind(), kind);
        for form in forms(kind, &vector.bytes("seed"), &vector.bytes("private")) {
            let key = SigningKey::from_der(&form).unwrap();
            assert_eq!((key.kind(), key.algorithms()), (kind, &[algorithm][..]));
            assert_eq!(key.bits(), public.bits());
            assert_eq!(key.public_key_spki(), spki);
            let signature = key.sign(algorithm, b"message").unwrap();
            assert_eq!(public.verify(algorithm, b"message", &signature), Ok(()));
            let other = key.sign(algorithm, b"message").unwrap();
            assert_ne!(signature, other, "the same randomness twice");
        }
    }
}

#[test]
fn published_signatures_verify_or_are_refused() {
    let (mut valid, mut invalid) = (0, 0);
    let mut public = Vec::new();
    for vector in support::parse(include_str!("vectors/ml_dsa_verify.txt")) {
        let (kind, algorithm) = set(&vector);
        if vector.optional("public").is_some() {
            public = vector.bytes("public");
        }
        let key = PublicKey::from_raw(kind, &public).unwrap();
        let (message, signature) = (vector.bytes("message"), vector.bytes("signature"));
        let outcome = key.verify(algorithm, &message, &signature);
        if vector.text("result") == "valid" {
            assert_eq!(outcome, Ok(()), "{algorithm:?}: {}", vector.text("comment"));
            valid += 1;
        } else {
            let rejected = Err(CryptoError::Rejected);
            assert_eq!(outcome, rejected, "{algorithm:?}: {}", vector.text("comment"));
            invalid += 1;
        }
    }
    assert_eq!((valid, invalid), (3, 12));
}

#[test]
fn a_changed_message_or_signature_is_rejected() {
    for vector in key_pairs() {
        let (kind, algorithm) = set(&vector);
        let key = PublicKey::from_raw(kind, &vector.bytes("public")).unwrap();
        let [seed, ..] = forms(kind, &vector.bytes("seed"), &[]);
        let signature = SigningKey::from_der(&seed).unwrap().sign(algorithm, b"message").unwrap();
        let rejects = |message: &[u8], signature: &[u8]| {
            assert_eq!(key.verify(algorithm, message, signature), Err(CryptoError::Rejected));
        };
        rejects(b"massage", &signature);
        rejects(b"", &signature);
        rejects(b"message", &[]);
        rejects(b"message", &signature[1..]);
        rejects(b"message", &[&signature[..], &[0]].concat());
        for at in [0, 31, 64, signature.len() / 2, signature.len() - 1] {
            let mut wrong = signature.clone();
            wrong[at] ^= 1;
            rejects(b"message", &wrong);
        }
    }
}

#[test]
fn keys_and_algorithms_of_different_sets_do_not_mix() {
    for vector in key_pairs() {
        let (kind, _) = set(&vector);
        let public = PublicKey::from_raw(kind, &vector.bytes("public")).unwrap();
        let [seed, ..] = forms(kind, &vector.bytes("seed"), &[]);
        let key = SigningKey::from_der(&seed).unwrap();
        for (other, algorithm) in SETS.into_iter().filter(|(other, _)| *other != kind) {
            assert_eq!(key.sign(algorithm, b""), Err(CryptoError::Unsupported));
            assert_eq!(public.verify(algorithm, b"", &[]), Err(CryptoError::Unsupported));
            let refused = PublicKey::from_raw(other, &vector.bytes("public")).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidKey);
            assert!(PublicKey::from_spki(&spki(other, &vector.bytes("public"))).is_err());
            let [_, expanded, both] = forms(other, &vector.bytes("seed"), &vector.bytes("private"));
            assert!(SigningKey::from_der(&expanded).is_err());
            assert!(SigningKey::from_der(&both).is_err());
        }
        assert_eq!(key.sign(A::Ed25519, b""), Err(CryptoError::Unsupported));
        assert_eq!(public.verify(A::RsaPssSha256, b"", &[]), Err(CryptoError::Unsupported));
    }
}

#[test]
fn damaged_keys_are_refused() {
    for vector in key_pairs() {
        let (kind, _) = set(&vector);
        let (seed, expanded) = (vector.bytes("seed"), vector.bytes("private"));
        let public = vector.bytes("public");
        for bytes in [&[][..], &public[1..], &[&public[..], &[0]].concat()] {
            let refused = PublicKey::from_raw(kind, bytes).unwrap_err();
            assert_eq!(refused, CryptoError::InvalidKey);
            assert!(PublicKey::from_spki(&spki(kind, bytes)).is_err());
        }
        for form in forms(kind, &seed[1..], &expanded[1..]) {
            assert!(SigningKey::from_der(&form).is_err());
        }
        // A seed and an expanded key that do not match. RFC 9881 8.2
        let mut other_seed = seed.clone();
        other_seed[0] ^= 1;
        let [.., both] = forms(kind, &other_seed, &expanded);
        assert!(SigningKey::from_der(&both).is_err());
        // An expanded key whose hash of the public key is wrong.
        let mut wrong = expanded.clone();
        wrong[64] ^= 1;
        let [_, form, _] = forms(kind, &seed, &wrong);
        assert!(SigningKey::from_der(&form).is_err());
        // Parameters, which must be absent. RFC 9881 2
        let mut fields = element(6, &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17]);
        fields.extend([5, 0]);
        let key = element(3, &[&[0], &public[..]].concat());
        assert!(
            PublicKey::from_spki(&element(0x30, &[element(0x30, &fields), key].concat())).is_err()
        );
    }
}

#[test]
fn generated_keys_agree_with_another_signer() {
    use rcgen::{PublicKeyData as _, SigningKey as _};
    for ((kind, algorithm), theirs) in SETS.into_iter().zip([
        &rcgen::PKCS_ML_DSA_44,
        &rcgen::PKCS_ML_DSA_65,
        &rcgen::PKCS_ML_DSA_87,
    ]) {
        let pair = rcgen::KeyPair::generate_for(theirs).unwrap();
        let key = SigningKey::from_der(pair.serialized_der()).unwrap();
        assert_eq!(key.kind(), kind);
        assert_eq!(key.public_key_spki(), pair.subject_public_key_info());
        let public = PublicKey::from_raw(kind, pair.der_bytes()).unwrap();
        let signature = pair.sign(b"message").unwrap();
        assert_eq!(public.verify(algorithm, b"message", &signature), Ok(()));
    }
}

#[test]
fn threads_share_one_key() {
    let vector = &key_pairs()[1];
    let [seed, ..] = forms(KeyKind::MlDsa65, &vector.bytes("seed"), &[]);
    let key = SigningKey::from_der(&seed).unwrap();
    let public = PublicKey::from_spki(&key.public_key_spki()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (key, public) = (&key, &public);
            scope.spawn(move || {
                let signature = key.sign(A::MlDsa65, &[thread]).unwrap();
                assert_eq!(public.verify(A::MlDsa65, &[thread], &signature), Ok(()));
            });
        }
    });
    assert_eq!(format!("{key:?}"), "SigningKey(MlDsa65, 15616 bits, ..)");
}
