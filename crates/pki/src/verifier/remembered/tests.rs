//! What is asked of the memory, with an algorithm that counts how often it is asked, and which chains enter it. What is
//! made of known chains is in tests/pki.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, ServerName,
    SignatureVerificationAlgorithm, UnixTime, alg_id,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose};
use rcgen::{DnType, IsCa, KeyPair, date_time_ymd};

use super::{Remembering, SETS, VerifiedSignatures, Visit, WAYS};
use crate::{CertificateAlgorithm, ChainVerifier, ChainVerifierBuilder, OcspPolicy, Roots, Usage};

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

impl SignatureVerificationAlgorithm for &Counting {
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
    let name = |memory: &VerifiedSignatures| memory.name(&&algorithm, b"key", b"message", b"good");
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

/// A server's leaf for `service.example` below an intermediate, and the root.
fn chain() -> ([CertificateDer<'static>; 2], Arc<Roots>) {
    let params = |name: &str, is_ca| {
        let mut params = CertificateParams::new(vec!["service.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = is_ca;
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2040, 1, 1));
        params
    };
    let authority = || IsCa::Ca(BasicConstraints::Unconstrained);
    let key = || KeyPair::generate().unwrap();
    let root = CertifiedIssuer::self_signed(params("root", authority()), key()).unwrap();
    let intermediate =
        CertifiedIssuer::signed_by(params("intermediate", authority()), key(), &root).unwrap();
    let mut leaf = params("leaf", IsCa::NoCa);
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let leaf = leaf.signed_by(&key(), &intermediate).unwrap();
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    ([leaf.der().clone(), intermediate.der().clone()], Arc::new(roots))
}

#[test]
fn a_chain_is_remembered_only_once_every_check_is_behind_it() {
    let ([leaf, intermediate], roots) = chain();
    let whole = [leaf.clone(), intermediate];
    let name = |name| ServerName::try_from(name).unwrap();
    let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let (ours, other, now) = (name("service.example"), name("other.example"), at(1_780_000_000));
    let remembered = |verifier: &ChainVerifier| verifier.remembered.as_ref().unwrap().len();

    let verifier = ChainVerifier::builder(Arc::clone(&roots)).build().unwrap();
    for (usage, chain, name, moment) in [
        (Usage::Server, &whole[..], &other, now),
        (Usage::Client, &whole[..], &ours, now),
        (Usage::Server, &whole[..], &ours, at(2_300_000_000)),
        (Usage::Server, &whole[..1], &ours, now),
    ] {
        verifier.verify(usage, chain, Some(name), None, moment).unwrap_err();
        assert_eq!(remembered(&verifier), 0);
    }
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap();
    assert_eq!(remembered(&verifier), 2);

    let with = |change: fn(ChainVerifierBuilder) -> ChainVerifierBuilder| {
        change(ChainVerifier::builder(Arc::clone(&roots))).build().unwrap()
    };
    // The staple is looked at last.
    let verifier = with(|builder| builder.ocsp_policy(OcspPolicy::Require));
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap_err();
    assert_eq!(remembered(&verifier), 0);
    let verifier = with(|builder| builder.remember_signatures(false));
    assert!(verifier.remembered.is_none());
    // A pin says nothing of who signed.
    let verifier = ChainVerifier::builder(roots).pin(leaf).build().unwrap();
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap();
    assert_eq!(remembered(&verifier), 0);
}

#[test]
fn an_algorithm_named_twice_counts_once_wherever_it_lies() {
    let (chain, roots) = chain();
    let elsewhere: Vec<_> = CertificateAlgorithm::ALL.iter().map(|each| each.elsewhere()).collect();
    let twice = [CertificateAlgorithm::ALL, &elsewhere].concat();
    for remember in [true, false] {
        let builder = ChainVerifier::builder(Arc::clone(&roots)).algorithms(&twice);
        let verifier = builder.remember_signatures(remember).build().unwrap();
        assert_eq!(verifier.algorithms.len(), CertificateAlgorithm::ALL.len());
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000));
        verifier.verify(Usage::Server, &chain, None, None, now).unwrap();
    }
}

#[test]
fn a_chain_seen_before_has_no_signature_verified_unless_that_is_turned_off() {
    let (chain, roots) = chain();
    let verified = |verifier: &ChainVerifier| {
        let before = CertificateAlgorithm::verified();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000));
        verifier.verify(Usage::Server, &chain, None, None, now).unwrap();
        CertificateAlgorithm::verified() - before
    };
    for (remember, again) in [(true, 0), (false, 2)] {
        let builder = ChainVerifier::builder(Arc::clone(&roots)).remember_signatures(remember);
        let verifier = builder.build().unwrap();
        assert_eq!([verified(&verifier), verified(&verifier)], [2, again]);
    }
}
