//! A memory of verified certificate signatures, so that a known chain costs hashes instead of
//! signature operations.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustls::Error;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use tercel_crypto::{Hash, HashAlgorithm, SecretBytes, fill_random};

/// The provider with a memory of certificate signatures that were verified, for clients that often
/// meet the same servers. A signature that is found is not verified again.
///
/// `entries` is the number of signatures that fit, of which each takes 32 bytes. It is rounded up
/// to a multiple of 4; one million is the maximum. A chain has two or three. If the memory is full,
/// new signatures replace older ones.
///
/// The memory has digests only of signatures that were valid. Whether a signature is valid depends
/// on nothing but the algorithm, the key, the message and the signature, which the digest contains.
/// Everything else about a certificate is checked each time: dates, names, usages, constraints,
/// revocation. Signatures of handshakes are verified each time.
///
/// # What its timing shows
///
/// A handshake with a known chain is faster. Thus a server, or an observer of the connection's
/// packets, can find out whether the process has met this chain before. Where one process acts for
/// users that must not learn of each other, use one memory for each of them, or none.
///
/// # Memory
///
/// rustls needs algorithms that live as long as the process. So the memory is never freed: call
/// this function once for a purpose, not for each connection.
///
/// ```
/// use tercel_rustls::{default_provider, with_signature_memory};
///
/// let provider = with_signature_memory(default_provider(), 1024)?;
/// provider.install_default().expect("no other provider is installed");
/// # Ok::<(), tercel_rustls::rustls::Error>(())
/// ```
///
/// # Errors
/// [`Error::FailedToGetRandomBytes`] if the random generator fails. The digests contain random
/// bytes, so that a peer cannot find out which signatures replace each other.
pub fn with_signature_memory(
    provider: CryptoProvider,
    entries: usize,
) -> Result<CryptoProvider, Error> {
    let memory = Arc::new(Memory::new(entries)?);
    let WebPkiSupportedAlgorithms { all, mapping } = provider.signature_verification_algorithms;
    let all: Vec<&'static dyn SignatureVerificationAlgorithm> = all
        .iter()
        .enumerate()
        .map(|(place, algorithm)| {
            let memory = Arc::clone(&memory);
            let remembering: &'static Remembering =
                Box::leak(Box::new(Remembering { algorithm: *algorithm, place, memory }));
            remembering as &dyn SignatureVerificationAlgorithm
        })
        .collect();
    let signature_verification_algorithms =
        WebPkiSupportedAlgorithms { all: Box::leak(all.into_boxed_slice()), mapping };
    Ok(CryptoProvider { signature_verification_algorithms, ..provider })
}

/// An algorithm with the memory that it shares with others.
#[derive(Debug)]
struct Remembering {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    /// Its place in the list. Algorithms with the same identifiers may accept other keys.
    place: usize,
    memory: Arc<Memory>,
}

impl SignatureVerificationAlgorithm for Remembering {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let (key_id, signature_id) = (self.public_key_alg_id(), self.signature_alg_id());
        let place = self.place.to_be_bytes();
        let parts = [&place[..], &key_id, public_key, &signature_id, message, signature];
        let digest = self.memory.digest(parts);
        if self.memory.contains(&digest) {
            return Ok(());
        }
        self.algorithm.verify_signature(public_key, message, signature)?;
        self.memory.insert(&digest);
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn fips(&self) -> bool {
        false
    }
}

/// Digests of valid signatures, in sets of [`WAYS`]. Neither reading nor writing takes a lock.
struct Memory {
    prefix: SecretBytes<32>,
    sets: Box<[[Entry; WAYS]]>,
    /// The way of a full set that is replaced next.
    next_way: AtomicUsize,
}

impl Memory {
    fn new(entries: usize) -> Result<Self, Error> {
        let prefix = SecretBytes::try_with(32, fill_random);
        let sets = entries.clamp(1, MAX_ENTRIES).div_ceil(WAYS);
        Ok(Self {
            prefix: prefix.map_err(|_| Error::FailedToGetRandomBytes)?,
            sets: (0..sets).map(|_| Default::default()).collect(),
            next_way: AtomicUsize::new(0),
        })
    }

    /// The digest of the algorithm's place, the key's algorithm, the key, the signature's
    /// algorithm, the message and the signature. Each is preceded by its length, so that the
    /// encoding is unambiguous.
    fn digest(&self, parts: [&[u8]; 6]) -> SignatureDigest {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        hash.update(self.prefix.as_bytes());
        for part in parts {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finish();
        let mut words = digest.chunks_exact(8).map(|word| word.try_into().map(u64::from_be_bytes));
        std::array::from_fn(|_| words.next().and_then(Result::ok).unwrap_or_default())
    }

    fn contains(&self, digest: &SignatureDigest) -> bool {
        self.set(digest).is_some_and(|set| set.iter().any(|entry| entry.is(digest)))
    }

    /// Stores a valid signature.
    fn insert(&self, digest: &SignatureDigest) {
        let Some(set) = self.set(digest) else { return };
        let free = set.iter().find(|entry| entry.is(&FREE));
        let next_way = || set.get(self.next_way.fetch_add(1, Ordering::Relaxed) % WAYS);
        if let Some(entry) = free.or_else(next_way) {
            entry.write(digest);
        }
    }

    fn set(&self, [first, ..]: &SignatureDigest) -> Option<&[Entry; WAYS]> {
        let index = first.checked_rem(self.sets.len() as u64)?;
        self.sets.get(usize::try_from(index).ok()?)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory(..)")
    }
}

type SignatureDigest = [u64; 4];

/// The value of an empty entry. A digest has this value with negligible probability.
const FREE: SignatureDigest = [0; 4];

/// An entry for one digest. Its words are loaded and stored separately: a reader concurrent with
/// writers may see words of several digests. The loaded words match the digest that the reader
/// looks for only if every word matches by chance.
#[derive(Default)]
struct Entry([AtomicU64; 4]);

impl Entry {
    fn is(&self, digest: &SignatureDigest) -> bool {
        self.0.iter().zip(digest).all(|(word, expected)| word.load(Ordering::Relaxed) == *expected)
    }

    fn write(&self, digest: &SignatureDigest) {
        self.0.iter().zip(digest).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
    }
}

const WAYS: usize = 4;
const MAX_ENTRIES: usize = 1 << 20;

#[cfg(test)]
mod tests;
