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
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tercel_crypto::{Hash, HashAlgorithm, fill_random};

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

    /// The digest of a signature in this cache: of the key's algorithm, the key, the signature's
    /// algorithm, the signed message and the signature. Each is preceded by its length, so the
    /// encoding is unambiguous.
    pub(super) fn digest(&self, parts: [&[u8]; 5]) -> Digest {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        hash.update(&self.prefix);
        for part in parts {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finish();
        let mut words = digest.chunks_exact(8).map(|word| word.try_into().map(u64::from_be_bytes));
        core::array::from_fn(|_| words.next().and_then(Result::ok).unwrap_or_default())
    }

    pub(super) fn contains(&self, digest: &Digest) -> bool {
        self.set(digest).is_some_and(|set| set.iter().any(|entry| entry.is(digest)))
    }

    /// Stores a signature of a chain that was accepted.
    pub(super) fn insert(&self, digest: &Digest) {
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

/// The digest of a signature.
pub(super) type Digest = [u64; 4];

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

#[cfg(test)]
mod tests;
