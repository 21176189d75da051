//! A cache of verified signatures, so that a signature that is met again costs a hash instead of a
//! public-key operation.

use core::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::algorithm::HashAlgorithm;
use crate::backend::secret::SecretBytes;
use crate::error::CryptoError;
use crate::hash::Hash;
use crate::random::fill_random;

/// A cache of verified signatures, for any number of threads. Lookups take no lock and do not write
/// to shared memory.
///
/// Whether a signature is valid depends on the key's algorithm, the key, the signature's algorithm,
/// the signed message, and the signature. The cache stores only a digest of all that the caller
/// names, and of a secret random prefix. The caller decides what is stored: insert only what was
/// verified.
///
/// ```
/// use tercel_crypto::SignatureCache;
///
/// let cache = SignatureCache::new(1024)?;
/// let digest = cache.digest([b"algorithm", b"key", b"message", b"signature"]);
/// assert!(!cache.contains(&digest));
/// cache.insert(&digest);
/// assert!(cache.contains(&digest));
/// # Ok::<(), tercel_crypto::CryptoError>(())
/// ```
pub struct SignatureCache {
    /// The prefix of what is hashed, so that an attacker cannot compute the set in which a
    /// signature is stored.
    prefix: SecretBytes<32>,
    /// The number of sets.
    count: usize,
    /// Allocated when the first signature is stored.
    sets: OnceLock<Box<[[Entry; WAYS]]>>,
    /// The way of a full set that is replaced next.
    next_way: AtomicUsize,
}

impl SignatureCache {
    /// An empty cache for this number of signatures, rounded up to a multiple of 4 and at least 4.
    /// Each takes 32 bytes, which are allocated when the first signature is stored. If the cache is
    /// full, new signatures replace older ones.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Internal`] when the random generator fails.
    pub fn new(entries: usize) -> Result<Self, CryptoError> {
        Ok(Self {
            prefix: SecretBytes::try_with(32, fill_random)?,
            count: entries.div_ceil(WAYS).max(1),
            sets: OnceLock::new(),
            next_way: AtomicUsize::new(0),
        })
    }

    /// The digest of a signature in this cache. `parts` names all on which its validity depends.
    /// Each is preceded by its length, so that the encoding is unambiguous.
    #[must_use]
    pub fn digest<const N: usize>(&self, parts: [&[u8]; N]) -> SignatureDigest {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        hash.update(self.prefix.as_bytes());
        for part in parts {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finish();
        let mut words = digest.chunks_exact(8).map(|word| word.try_into().map(u64::from_be_bytes));
        let word = |_| words.next().and_then(Result::ok).unwrap_or_default();
        SignatureDigest(core::array::from_fn(word))
    }

    /// Whether the signature is stored.
    #[must_use]
    pub fn contains(&self, digest: &SignatureDigest) -> bool {
        self.set(digest).is_some_and(|set| set.iter().any(|entry| entry.is(digest)))
    }

    /// Stores a signature that was verified.
    pub fn insert(&self, digest: &SignatureDigest) {
        let _ = self.sets.get_or_init(|| (0..self.count).map(|_| Default::default()).collect());
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

    /// The number of stored signatures. It is counted, so this is slow.
    #[must_use]
    pub fn len(&self) -> usize {
        let entries = self.sets.get().into_iter().flat_map(|sets| sets.iter().flatten());
        entries.filter(|entry| !entry.is(&FREE)).count()
    }

    /// Whether no signature is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn set(&self, SignatureDigest([first, ..]): &SignatureDigest) -> Option<&[Entry; WAYS]> {
        let sets = self.sets.get()?;
        let index = first.checked_rem(sets.len() as u64)?;
        sets.get(usize::try_from(index).ok()?)
    }
}

impl fmt::Debug for SignatureCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignatureCache(..)")
    }
}

/// The digest of a signature in one [`SignatureCache`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignatureDigest([u64; 4]);

impl fmt::Debug for SignatureDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignatureDigest(..)")
    }
}

/// The value of an empty entry. A digest has this value with negligible probability.
const FREE: SignatureDigest = SignatureDigest([0; 4]);

/// An entry for one digest. Its words are loaded and stored separately: a reader concurrent with
/// writers may see words of several digests. The loaded words match the digest that the reader
/// looks for only if every word matches by chance.
#[derive(Default)]
struct Entry([AtomicU64; 4]);

impl Entry {
    fn is(&self, SignatureDigest(words): &SignatureDigest) -> bool {
        self.0.iter().zip(words).all(|(word, expected)| word.load(Ordering::Relaxed) == *expected)
    }

    fn write(&self, SignatureDigest(words): &SignatureDigest) {
        for (word, value) in self.0.iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
    }
}

const WAYS: usize = 4;

#[cfg(test)]
mod tests;
