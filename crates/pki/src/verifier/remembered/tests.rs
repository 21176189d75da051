//! What is asked of the memory, with an algorithm that counts how often it is asked. Whole chains are in tests/pki.

use std::sync::atomic::{AtomicUsize, Ordering};

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

use super::{Remembering, SETS, VerifiedSignatures, Visit, WAYS};

/// Finds every signature good that starts with its first byte.
#[derive(Debug)]
struct Counting {
    good: u8,
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    asked: AtomicUsize,
}

impl Counting {
    fn new() -> Self {
        let (key, signature) = (alg_id::ECDSA_P256, alg_id::ECDSA_SHA256);
        Self { good: b'g', key, signature, asked: AtomicUsize::new(0) }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl SignatureVerificationAlgorithm for Counting {
    fn verify_signature(&self, _: &[u8], _: &[u8], sig: &[u8]) -> Result<(), InvalidSignature> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if sig.first() == Some(&self.good) { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// What is signed of a certificate: a SEQUENCE that starts with a tagged version.
fn certificate(content: &[u8]) -> Vec<u8> {
    let fields = [&[0xa0, 3, 2, 1, 2], content].concat();
    [&[0x30, u8::try_from(fields.len()).unwrap()], fields.as_slice()].concat()
}

fn ask(
    memory: &VerifiedSignatures,
    algorithm: &Counting,
    (key, message, signature): (&[u8], &[u8], &[u8]),
    accepted: bool,
) -> Result<(), InvalidSignature> {
    let visit = Visit::new(memory);
    let outcome =
        Remembering { algorithm, visit: &visit }.verify_signature(key, message, signature);
    if accepted {
        visit.accept();
    }
    outcome
}

#[test]
fn a_good_signature_is_verified_once() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    for _ in 0..3 {
        ask(&memory, &algorithm, (b"key", &message, b"good"), true).unwrap();
    }
    assert_eq!((algorithm.asked(), memory.len()), (1, 1));
}

#[test]
fn nothing_is_kept_of_a_chain_that_was_not_accepted() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    for _ in 0..3 {
        ask(&memory, &algorithm, (b"key", &message, b"good"), false).unwrap();
    }
    assert_eq!((algorithm.asked(), memory.len()), (3, 0));
}

#[test]
fn a_bad_signature_is_verified_and_refused_each_time() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    for _ in 0..3 {
        ask(&memory, &algorithm, (b"key", &message, b"bad"), true).unwrap_err();
    }
    assert_eq!((algorithm.asked(), memory.len()), (3, 0));
}

#[test]
fn each_value_counts_and_so_does_where_it_ends() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    ask(&memory, &algorithm, (b"key", &message, b"good"), true).unwrap();

    let longer = [message.as_slice(), b"g"].concat();
    let other = certificate(b"Leaf");
    let cases: [(&[u8], &[u8], &[u8]); 6] = [
        (b"kex", &message, b"good"),
        (b"key", &other, b"good"),
        (b"key", &message, b"gooe"),
        (b"ke", &message, b"good"),
        (b"key", &message, b"goo"),
        (b"key", &longer, b"ood"),
    ];
    for (index, case) in cases.into_iter().enumerate() {
        let _ = ask(&memory, &algorithm, case, false);
        assert_eq!(algorithm.asked(), index + 2, "{case:?}");
    }
    for changed in [
        Counting { key: alg_id::ECDSA_P384, ..Counting::new() },
        Counting { signature: alg_id::ECDSA_SHA384, ..Counting::new() },
    ] {
        ask(&memory, &changed, (b"key", &message, b"good"), false).unwrap();
        assert_eq!(changed.asked(), 1);
    }
    // What is remembered is believed even by an algorithm that would refuse it now: the test above can fail.
    let strict = Counting { good: b'x', ..Counting::new() };
    ask(&memory, &strict, (b"key", &message, b"good"), false).unwrap();
    assert_eq!(strict.asked(), 0);
}

#[test]
fn a_revocation_list_is_never_remembered() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    // tbsCertList starts with an untagged version.
    let list = [0x30, 3, 2, 1, 1];
    for _ in 0..3 {
        ask(&memory, &algorithm, (b"key", &list, b"good"), true).unwrap();
    }
    assert_eq!((algorithm.asked(), memory.len()), (3, 0));
}

#[test]
fn two_memories_name_one_signature_differently() {
    let algorithm = Counting::new();
    let name = |memory: &VerifiedSignatures| memory.name(&algorithm, b"key", b"message", b"good");
    let (one, other) = (VerifiedSignatures::new().unwrap(), VerifiedSignatures::new().unwrap());
    assert_eq!(name(&one), name(&one));
    assert_ne!(name(&one), name(&other));
}

#[test]
fn the_memory_is_bounded_and_still_learns_when_full() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    let message = |index: usize| certificate(&index.to_be_bytes());
    for index in 0..8 * SETS * WAYS {
        ask(&memory, &algorithm, (b"key", &message(index), b"good"), true).unwrap();
        // What came last is there.
        let before = algorithm.asked();
        ask(&memory, &algorithm, (b"key", &message(index), b"good"), true).unwrap();
        assert_eq!(algorithm.asked(), before);
    }
    assert!(memory.len() <= SETS * WAYS);
    assert!(memory.len() > SETS * WAYS * 9 / 10, "{}", memory.len());
}

#[test]
fn threads_read_and_write_at_once_and_none_is_told_a_lie() {
    let (memory, algorithm) = (VerifiedSignatures::new().unwrap(), Counting::new());
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (memory, algorithm) = (&memory, &algorithm);
            scope.spawn(move || {
                for index in 0..4000_usize {
                    let message = certificate(&(index % 1500 + thread * 100).to_be_bytes());
                    ask(memory, algorithm, (b"key", &message, b"good"), true).unwrap();
                    ask(memory, algorithm, (b"key", &message, b"bad"), true).unwrap_err();
                }
            });
        }
    });
    // Each bad one was verified, and some of the good ones were not.
    let asked = algorithm.asked();
    assert!((16_000..32_000).contains(&asked), "{asked}");
}
