//! Valid signatures are verified once, and nothing else is accepted.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::alg_id;

use super::*;

/// An algorithm that accepts the signature "valid", and counts what it verifies.
#[derive(Debug)]
struct Counting {
    key_id: AlgorithmIdentifier,
    verified: AtomicUsize,
}

impl SignatureVerificationAlgorithm for Counting {
    fn verify_signature(
        &self,
        _: &[u8],
        _: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.verified.fetch_add(1, Ordering::Relaxed);
        if signature.starts_with(b"valid") { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key_id
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_SHA256
    }
}

fn counting(key_id: AlgorithmIdentifier) -> &'static Counting {
    Box::leak(Box::new(Counting { key_id, verified: AtomicUsize::new(0) }))
}

/// A provider with these algorithms, and their forms with a memory.
fn remembering(
    algorithms: &[&'static Counting],
    entries: usize,
) -> &'static [&'static dyn SignatureVerificationAlgorithm] {
    let all: Vec<_> =
        algorithms.iter().map(|one| *one as &dyn SignatureVerificationAlgorithm).collect();
    let mut provider = crate::default_provider();
    provider.signature_verification_algorithms.all = Box::leak(all.into_boxed_slice());
    with_signature_memory(provider, entries).unwrap().signature_verification_algorithms.all
}

#[test]
fn a_valid_signature_is_verified_once() {
    let inner = counting(alg_id::ECDSA_P256);
    let [algorithm] = remembering(&[inner], 16) else { panic!("one algorithm") };
    for _ in 0..3 {
        algorithm.verify_signature(b"key", b"message", b"valid").unwrap();
    }
    assert_eq!(inner.verified.load(Ordering::Relaxed), 1);
    assert_eq!(algorithm.public_key_alg_id(), alg_id::ECDSA_P256);
    assert_eq!(algorithm.signature_alg_id(), alg_id::ECDSA_SHA256);
    assert!(!algorithm.fips());
}

/// Two algorithms with the same identifiers may accept keys of other lengths.
#[test]
fn each_algorithm_of_the_list_verifies_itself() {
    let (lax, strict) = (counting(alg_id::ECDSA_P256), counting(alg_id::ECDSA_P256));
    let [one, other] = remembering(&[lax, strict], 16) else { panic!("two algorithms") };
    for algorithm in [one, other, one, other] {
        algorithm.verify_signature(b"key", b"message", b"valid").unwrap();
    }
    assert_eq!([lax, strict].map(|one| one.verified.load(Ordering::Relaxed)), [1, 1]);
}

#[test]
fn an_invalid_signature_is_never_stored() {
    let inner = counting(alg_id::ECDSA_P256);
    let [algorithm] = remembering(&[inner], 16) else { panic!("one algorithm") };
    for _ in 0..3 {
        assert!(algorithm.verify_signature(b"key", b"message", b"forged").is_err());
    }
    assert_eq!(inner.verified.load(Ordering::Relaxed), 3);
}

#[test]
fn every_part_of_the_input_counts() {
    let (inner, other) = (counting(alg_id::ECDSA_P256), counting(alg_id::ECDSA_P384));
    let [algorithm, of_other_key] = remembering(&[inner, other], 1000) else {
        panic!("two algorithms")
    };
    algorithm.verify_signature(b"key", b"message", b"valid").unwrap();
    // The last one has the same bytes in a row.
    for [key, message, signature] in [
        [&b"kez"[..], b"message", b"valid"],
        [b"key", b"messagf", b"valid"],
        [b"key", b"message", b"valie"],
        [b"keym", b"essage", b"valid"],
    ] {
        let before = inner.verified.load(Ordering::Relaxed);
        let _ = algorithm.verify_signature(key, message, signature);
        assert_eq!(inner.verified.load(Ordering::Relaxed), before + 1);
    }
    of_other_key.verify_signature(b"key", b"message", b"valid").unwrap();
    assert_eq!(other.verified.load(Ordering::Relaxed), 1);
}

#[test]
fn memories_are_separate() {
    let inner = counting(alg_id::ECDSA_P256);
    let [[first], [second]] = [remembering(&[inner], 16), remembering(&[inner], 16)] else {
        panic!("one algorithm each")
    };
    first.verify_signature(b"key", b"message", b"valid").unwrap();
    second.verify_signature(b"key", b"message", b"valid").unwrap();
    assert_eq!(inner.verified.load(Ordering::Relaxed), 2);
}

#[test]
fn handshake_signatures_are_not_remembered() {
    let provider = with_signature_memory(crate::default_provider(), 16).unwrap();
    let mapping = provider.signature_verification_algorithms.mapping;
    let plain = crate::default_provider().signature_verification_algorithms.mapping;
    assert!(std::ptr::eq(mapping, plain));
}
