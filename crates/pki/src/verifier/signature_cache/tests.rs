//! The signature cache: lookups, with an algorithm that counts its calls, and which chains are
//! stored. See tests/pki for the verification of cached chains.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::ServerName;
use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm,
    UnixTime, alg_id,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose};
use rcgen::{DnType, IsCa, KeyPair, date_time_ymd};

use super::{CachedAlgorithm, ChainSignatures, SETS, SignatureCache, WAYS};
use crate::{CertificateAlgorithm, ChainVerifier, ChainVerifierBuilder, OcspPolicy, Roots, Usage};

/// An algorithm that accepts every signature that starts with the byte `good`, and counts its
/// calls.
#[derive(Debug)]
struct Counting {
    good: u8,
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    calls: AtomicUsize,
}

impl Counting {
    fn new() -> Self {
        let (key, signature) = (alg_id::ECDSA_P256, alg_id::ECDSA_SHA256);
        Self { good: b'g', key, signature, calls: AtomicUsize::new(0) }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl SignatureVerificationAlgorithm for &Counting {
    fn verify_signature(&self, _: &[u8], _: &[u8], sig: &[u8]) -> Result<(), InvalidSignature> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if sig.first() == Some(&self.good) { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// The signed part of a certificate: a SEQUENCE that begins with a tagged version.
fn certificate(content: &[u8]) -> Vec<u8> {
    let fields = [&[0xa0, 3, 2, 1, 2], content].concat();
    [&[0x30, u8::try_from(fields.len()).unwrap()], fields.as_slice()].concat()
}

fn verify_cached(
    cache: &SignatureCache,
    algorithm: &Counting,
    (key, message, signature): (&[u8], &[u8], &[u8]),
    accepted: bool,
) -> Result<(), InvalidSignature> {
    let chain_signatures = ChainSignatures::new(cache);
    let outcome = CachedAlgorithm { algorithm, chain_signatures: &chain_signatures }
        .verify_signature(key, message, signature);
    if accepted {
        chain_signatures.accept();
    }
    outcome
}

#[test]
fn a_good_signature_is_verified_once() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    for _ in 0..3 {
        verify_cached(&cache, &algorithm, (b"key", &message, b"good"), true).unwrap();
    }
    assert_eq!((algorithm.calls(), cache.len()), (1, 1));
}

#[test]
fn no_signature_of_a_refused_chain_is_cached() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    for _ in 0..3 {
        verify_cached(&cache, &algorithm, (b"key", &message, b"good"), false).unwrap();
    }
    assert_eq!((algorithm.calls(), cache.len()), (3, 0));
}

#[test]
fn a_bad_signature_is_verified_and_refused_each_time() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    for _ in 0..3 {
        verify_cached(&cache, &algorithm, (b"key", &message, b"bad"), true).unwrap_err();
    }
    assert_eq!((algorithm.calls(), cache.len()), (3, 0));
}

#[test]
fn the_digest_depends_on_each_value_and_its_length() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    let message = certificate(b"leaf");
    verify_cached(&cache, &algorithm, (b"key", &message, b"good"), true).unwrap();

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
        let _ = verify_cached(&cache, &algorithm, case, false);
        assert_eq!(algorithm.calls(), index + 2, "{case:?}");
    }
    for changed in [
        Counting { key: alg_id::ECDSA_P384, ..Counting::new() },
        Counting { signature: alg_id::ECDSA_SHA384, ..Counting::new() },
    ] {
        verify_cached(&cache, &changed, (b"key", &message, b"good"), false).unwrap();
        assert_eq!(changed.calls(), 1);
    }
    // A cached signature is accepted even by an algorithm that would now refuse it. This shows that
    // the test above can fail.
    let strict = Counting { good: b'x', ..Counting::new() };
    verify_cached(&cache, &strict, (b"key", &message, b"good"), false).unwrap();
    assert_eq!(strict.calls(), 0);
}

/// RFC 5280 5.1
#[test]
fn signatures_of_revocation_lists_are_not_cached() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    // tbsCertList starts with an untagged version.
    let list = [0x30, 3, 2, 1, 1];
    for _ in 0..3 {
        verify_cached(&cache, &algorithm, (b"key", &list, b"good"), true).unwrap();
    }
    assert_eq!((algorithm.calls(), cache.len()), (3, 0));
}

#[test]
fn the_digest_depends_on_the_cache() {
    let algorithm = Counting::new();
    let digest = |cache: &SignatureCache| cache.digest(&&algorithm, b"key", b"message", b"good");
    let (one, other) = (SignatureCache::new().unwrap(), SignatureCache::new().unwrap());
    assert_eq!(digest(&one), digest(&one));
    assert_ne!(digest(&one), digest(&other));
}

#[test]
fn a_full_cache_replaces_entries() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    let message = |index: usize| certificate(&index.to_be_bytes());
    for index in 0..8 * SETS * WAYS {
        verify_cached(&cache, &algorithm, (b"key", &message(index), b"good"), true).unwrap();
        // The entry that was stored last is in the cache.
        let before = algorithm.calls();
        verify_cached(&cache, &algorithm, (b"key", &message(index), b"good"), true).unwrap();
        assert_eq!(algorithm.calls(), before);
    }
    assert!(cache.len() <= SETS * WAYS);
    assert!(cache.len() > SETS * WAYS * 9 / 10, "{}", cache.len());
}

#[test]
fn concurrent_reads_and_writes_give_correct_results() {
    let (cache, algorithm) = (SignatureCache::new().unwrap(), Counting::new());
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (cache, algorithm) = (&cache, &algorithm);
            scope.spawn(move || {
                for index in 0..4000_usize {
                    let message = certificate(&(index % 1500 + thread * 100).to_be_bytes());
                    verify_cached(cache, algorithm, (b"key", &message, b"good"), true).unwrap();
                    verify_cached(cache, algorithm, (b"key", &message, b"bad"), true).unwrap_err();
                }
            });
        }
    });
    // Each invalid signature was verified, and some of the valid ones were found in the cache.
    let calls = algorithm.calls();
    assert!((16_000..32_000).contains(&calls), "{calls}");
}

/// A server's leaf for `service.example`, issued by an intermediate, and the root.
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
fn a_chain_is_cached_only_after_every_check() {
    let ([leaf, intermediate], roots) = chain();
    let whole = [leaf.clone(), intermediate];
    let name = |name| ServerName::try_from(name).unwrap();
    let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let (ours, other, now) = (name("service.example"), name("other.example"), at(1_780_000_000));
    let signature_cache =
        |verifier: &ChainVerifier| verifier.signature_cache.as_ref().unwrap().len();

    let verifier = ChainVerifier::builder(Arc::clone(&roots)).build().unwrap();
    for (usage, chain, name, moment) in [
        (Usage::Server, &whole[..], &other, now),
        (Usage::Client, &whole[..], &ours, now),
        (Usage::Server, &whole[..], &ours, at(2_300_000_000)),
        (Usage::Server, &whole[..1], &ours, now),
    ] {
        verifier.verify(usage, chain, Some(name), None, moment).unwrap_err();
        assert_eq!(signature_cache(&verifier), 0);
    }
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap();
    assert_eq!(signature_cache(&verifier), 2);

    let with = |change: fn(ChainVerifierBuilder) -> ChainVerifierBuilder| {
        change(ChainVerifier::builder(Arc::clone(&roots))).build().unwrap()
    };
    // The OCSP response is verified last, so all signatures of the chain were valid.
    let verifier = with(|builder| builder.ocsp_policy(OcspPolicy::Require));
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap_err();
    assert_eq!(signature_cache(&verifier), 0);
    let verifier = with(|builder| builder.cache_signatures(false));
    assert!(verifier.signature_cache.is_none());
    // A pin does not verify a signature.
    let verifier = ChainVerifier::builder(roots).pin(leaf).build().unwrap();
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap();
    assert_eq!(signature_cache(&verifier), 0);
}

#[test]
fn duplicate_algorithms_are_removed_at_any_address() {
    let (chain, roots) = chain();
    let copied_elsewhere: Vec<_> =
        CertificateAlgorithm::ALL.iter().map(|each| each.copied_elsewhere()).collect();
    let twice = [CertificateAlgorithm::ALL, &copied_elsewhere].concat();
    for remember in [true, false] {
        let builder = ChainVerifier::builder(Arc::clone(&roots)).algorithms(&twice);
        let verifier = builder.cache_signatures(remember).build().unwrap();
        assert_eq!(verifier.algorithms.len(), CertificateAlgorithm::ALL.len());
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000));
        verifier.verify(Usage::Server, &chain, None, None, now).unwrap();
    }
}

#[test]
fn a_cached_chain_needs_no_signature_verification_unless_the_cache_is_off() {
    let (chain, roots) = chain();
    let verified = |verifier: &ChainVerifier| {
        let before = CertificateAlgorithm::verified();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000));
        verifier.verify(Usage::Server, &chain, None, None, now).unwrap();
        CertificateAlgorithm::verified() - before
    };
    for (remember, again) in [(true, 0), (false, 2)] {
        let builder = ChainVerifier::builder(Arc::clone(&roots)).cache_signatures(remember);
        let verifier = builder.build().unwrap();
        assert_eq!([verified(&verifier), verified(&verifier)], [2, again]);
    }
}
