//! A cache of verified certificate signatures, so that a chain verified again costs hashes instead
//! of signature operations.
//!
//! The validity of a signature is a function of five values: the key's algorithm, the key, the
//! signature's algorithm, the signed message, and the signature. The cache stores only a digest of
//! all five and a secret random prefix. Nothing else of a result is cached: dates, names, usages,
//! constraints, revocation and staples are checked each time, by the same code. Only valid
//! signatures of certificates are stored, and only after the whole chain was accepted: an attacker
//! cannot fill the cache.

use core::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError};

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use tercel_crypto::lock::Mutex;
use tercel_crypto::{Hash, HashAlgorithm, fill_random};

use crate::der;

/// A cache of verified signatures. Lookups take no lock and do not write to shared memory.
pub(super) struct SignatureCache {
    /// A random prefix, so that an attacker cannot compute the set in which a signature is stored.
    prefix: [u8; 32],
    /// 32 KiB, allocated when the first signature is stored.
    sets: OnceLock<Box<[[Entry; WAYS]; SETS]>>,
    /// The way of a full set that is replaced next.
    next_way: AtomicUsize,
}

impl SignatureCache {
    /// An empty cache; `None` if no random prefix is available.
    pub(super) fn new() -> Option<Self> {
        let mut prefix = [0; 32];
        fill_random(&mut prefix).ok()?;
        Some(Self { prefix, sets: OnceLock::new(), next_way: AtomicUsize::new(0) })
    }

    /// The digest of a signature in this cache. Each value is preceded by its length, so the
    /// encoding is unambiguous.
    fn digest(
        &self,
        algorithm: &dyn SignatureVerificationAlgorithm,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Digest {
        let (of_key, of_signature) = (algorithm.public_key_alg_id(), algorithm.signature_alg_id());
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        hash.update(&self.prefix);
        for part in [of_key.as_ref(), key, of_signature.as_ref(), message, signature] {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finish();
        let mut words = digest.chunks_exact(8).map(|word| word.try_into().map(u64::from_be_bytes));
        core::array::from_fn(|_| words.next().and_then(Result::ok).unwrap_or_default())
    }

    fn contains(&self, digest: &Digest) -> bool {
        self.set(digest).is_some_and(|set| set.iter().any(|entry| entry.is(digest)))
    }

    fn insert(&self, digest: &Digest) {
        let _ = self.sets.get_or_init(|| Box::new(core::array::from_fn(|_| Default::default())));
        let Some(set) = self.set(digest) else { return };
        if set.iter().any(|entry| entry.is(digest)) {
            return;
        }
        let free = set.iter().find(|entry| entry.is(&FREE));
        let next_way = || set.get(self.next_way.fetch_add(1, Ordering::Relaxed) % WAYS);
        if let Some(entry) = free.or_else(next_way) {
            entry.write(digest);
        }
    }

    fn set(&self, [first, ..]: &Digest) -> Option<&[Entry; WAYS]> {
        let index = usize::try_from(first % SETS as u64).ok()?;
        self.sets.get()?.get(index)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let entries = self.sets.get().into_iter().flat_map(|sets| sets.iter().flatten());
        entries.filter(|entry| !entry.is(&FREE)).count()
    }
}

impl fmt::Debug for SignatureCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignatureCache(..)")
    }
}

/// One verification of a chain, with the valid signatures that were not in the cache.
#[derive(Debug)]
pub(super) struct ChainSignatures<'v> {
    cache: &'v SignatureCache,
    /// A mutex only because path building requires `Sync` algorithms; never contended.
    found: Mutex<Vec<Digest>>,
}

impl<'v> ChainSignatures<'v> {
    pub(super) fn new(cache: &'v SignatureCache) -> Self {
        Self { cache, found: Mutex::new(Vec::new()) }
    }

    /// Stores the signatures of a chain that was accepted.
    pub(super) fn accept(self) {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        for digest in &found {
            self.cache.insert(digest);
        }
    }
}

/// A signature algorithm that looks up each signature in the cache before it verifies it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedAlgorithm<'v, A> {
    pub(super) algorithm: A,
    pub(super) chain_signatures: &'v ChainSignatures<'v>,
}

impl<A> SignatureVerificationAlgorithm for CachedAlgorithm<'_, A>
where
    A: SignatureVerificationAlgorithm,
{
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        // Signatures of revocation lists are verified here as well. They are large and rare, and
        // not cached.
        if !is_certificate(message) {
            return self.algorithm.verify_signature(key, message, signature);
        }
        let digest = self.chain_signatures.cache.digest(&self.algorithm, key, message, signature);
        if self.chain_signatures.cache.contains(&digest) {
            return Ok(());
        }
        self.algorithm.verify_signature(key, message, signature)?;
        let mut found = self.chain_signatures.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < MAX_FOUND {
            found.push(digest);
        }
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}

/// Whether the signed message is a certificate: the first field of a certificate is the tagged
/// version, which is untagged in a revocation list. RFC 5280 4.1, 5.1
fn is_certificate(signed: &[u8]) -> bool {
    let fields = der::single(signed, der::SEQUENCE);
    fields.is_ok_and(|fields| fields.first() == Some(&VERSION))
}

/// \[0\], constructed.
const VERSION: u8 = 0xa0;

/// The digest of a signature.
type Digest = [u64; 4];

/// The value of an empty entry. A digest has this value with negligible probability.
const FREE: Digest = [0; 4];

/// An entry for one digest. Its words are loaded and stored separately: a reader concurrent with
/// writers may see words of several digests. The loaded words match the digest that the reader
/// looks for only if every word matches by chance.
#[derive(Default)]
struct Entry([AtomicU64; 4]);

impl Entry {
    fn is(&self, digest: &Digest) -> bool {
        self.0.iter().zip(digest).all(|(word, expected)| word.load(Ordering::Relaxed) == *expected)
    }

    fn write(&self, digest: &Digest) {
        for (word, value) in self.0.iter().zip(digest) {
            word.store(*value, Ordering::Relaxed);
        }
    }
}

/// The number of sets. With [`WAYS`], 1024 signatures fit: two or three for each chain.
const SETS: usize = 256;
const WAYS: usize = 4;

/// The maximum number of signatures stored for one chain; the longest path has fewer.
const MAX_FOUND: usize = 16;

#[cfg(test)]
mod tests;
