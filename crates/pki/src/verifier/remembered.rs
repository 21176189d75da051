//! Signatures of certificates that were verified before, so that a chain seen again costs hashes instead of curves.
//!
//! Whether a signature is good is a function of five values: the key's algorithm, the key, the signature's algorithm, what
//! was signed, and the signature. A digest of all five under a prefix that nobody else knows stands for them, and what is
//! kept is digests alone. Nothing else of a verdict is remembered: dates, names, usages, constraints, revocation and
//! staples are looked at every time, in the same code. Only good signatures are kept, only of certificates, and only once
//! the whole chain was accepted: a stranger cannot fill the table.
//!
//! Must not know: paths and policies. Next: `mod.rs`, which says when a verification ends well; SECURITY.md has the argument.

use core::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError};

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use tercel_crypto::lock::Mutex;
use tercel_crypto::{Hash, HashAlgorithm, fill_random};

use crate::der;

/// The signatures a verifier remembers. Reading is loads alone: no lock, and nothing written that threads share.
pub(super) struct VerifiedSignatures {
    /// Drawn at random, so that nobody can work out which set a signature of theirs falls into.
    prefix: [u8; 32],
    /// 32 KiB, once there is something to keep.
    sets: OnceLock<Box<[[Entry; WAYS]; SETS]>>,
    /// Which way of a full set gives place next.
    victim: AtomicUsize,
}

impl VerifiedSignatures {
    /// An empty memory; none if there is no random prefix to be had.
    pub(super) fn new() -> Option<Self> {
        let mut prefix = [0; 32];
        fill_random(&mut prefix).ok()?;
        Some(Self { prefix, sets: OnceLock::new(), victim: AtomicUsize::new(0) })
    }

    /// What stands for a signature here. Each value has its length before it, so no two lists of values are one string.
    fn name(
        &self,
        algorithm: &dyn SignatureVerificationAlgorithm,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Name {
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

    fn holds(&self, name: &Name) -> bool {
        self.set(name).is_some_and(|set| set.iter().any(|entry| entry.is(name)))
    }

    fn keep(&self, name: &Name) {
        let _ = self.sets.get_or_init(|| Box::new(core::array::from_fn(|_| Default::default())));
        let Some(set) = self.set(name) else { return };
        if set.iter().any(|entry| entry.is(name)) {
            return;
        }
        let free = set.iter().find(|entry| entry.is(&FREE));
        let victim = || set.get(self.victim.fetch_add(1, Ordering::Relaxed) % WAYS);
        if let Some(entry) = free.or_else(victim) {
            entry.write(name);
        }
    }

    fn set(&self, [first, ..]: &Name) -> Option<&[Entry; WAYS]> {
        let index = usize::try_from(first % SETS as u64).ok()?;
        self.sets.get()?.get(index)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let entries = self.sets.get().into_iter().flat_map(|sets| sets.iter().flatten());
        entries.filter(|entry| !entry.is(&FREE)).count()
    }
}

impl fmt::Debug for VerifiedSignatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifiedSignatures(..)")
    }
}

/// One verification of a chain, and the good signatures it found that were not known.
#[derive(Debug)]
pub(super) struct Visit<'v> {
    remembered: &'v VerifiedSignatures,
    /// Shared only because path building wants algorithms that are; never contended.
    found: Mutex<Vec<Name>>,
}

impl<'v> Visit<'v> {
    pub(super) fn new(remembered: &'v VerifiedSignatures) -> Self {
        Self { remembered, found: Mutex::new(Vec::new()) }
    }

    /// The chain was accepted: its signatures may be believed next time.
    pub(super) fn accept(self) {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        for name in &found {
            self.remembered.keep(name);
        }
    }
}

/// An algorithm that asks the memory first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remembering<'v, A> {
    pub(super) algorithm: A,
    pub(super) visit: &'v Visit<'v>,
}

impl<A> SignatureVerificationAlgorithm for Remembering<'_, A>
where
    A: SignatureVerificationAlgorithm,
{
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        // Revocation lists pass here as well. They are large, rare, and another matter.
        if !is_certificate(message) {
            return self.algorithm.verify_signature(key, message, signature);
        }
        let name = self.visit.remembered.name(&self.algorithm, key, message, signature);
        if self.visit.remembered.holds(&name) {
            return Ok(());
        }
        self.algorithm.verify_signature(key, message, signature)?;
        let mut found = self.visit.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < MOST_FOUND {
            found.push(name);
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

/// Whether what was signed is a certificate: its first field is the version, which a list has without the tag.
/// RFC 5280 4.1, 5.1
fn is_certificate(signed: &[u8]) -> bool {
    let fields = der::single(signed, der::SEQUENCE);
    fields.is_ok_and(|fields| fields.first() == Some(&VERSION))
}

/// \[0\], constructed.
const VERSION: u8 = 0xa0;

/// The digest that stands for a signature.
type Name = [u64; 4];

/// No digest, for all that anybody will live to see.
const FREE: Name = [0; 4];

/// A place for one digest. Its words are read and written apart: a reader that meets writers may see words of several
/// digests. Together they are the one it looks for only if each word is, by chance.
#[derive(Default)]
struct Entry([AtomicU64; 4]);

impl Entry {
    fn is(&self, name: &Name) -> bool {
        self.0.iter().zip(name).all(|(word, expected)| word.load(Ordering::Relaxed) == *expected)
    }

    fn write(&self, name: &Name) {
        for (word, value) in self.0.iter().zip(name) {
            word.store(*value, Ordering::Relaxed);
        }
    }
}

/// With [`WAYS`], room for 1024 signatures: two or three a chain.
const SETS: usize = 256;
const WAYS: usize = 4;

/// Signatures kept of one chain; the longest path has fewer.
const MOST_FOUND: usize = 16;

#[cfg(test)]
mod tests;
