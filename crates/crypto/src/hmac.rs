//! HMAC, RFC 2104, keyed once and used often.
//!
//! What it is for: MACs whose key is absorbed when the key is made, not again for each message.
//! What it must not know: what is authenticated. Where to look next: `hkdf.rs` and `prf.rs`,
//! which are loops around this.
//!
//! # What is kept, and why
//!
//! HMAC hashes one block of padded key before the message and another before the inner digest. A
//! key here is the two chaining values after those blocks, at most 128 bytes.

use core::fmt;

use crate::backend::sha::{Sha256, Sha512};
use crate::hash::Running;
use crate::{Digest, HashAlgorithm, Secret, constant_time_eq, wipe};

/// A key with both of its pads absorbed, wiped on drop.
pub struct HmacKey {
    inner: Chaining,
    outer: Chaining,
}

impl HmacKey {
    /// Absorbs a key of any length.
    #[must_use]
    pub fn new(algorithm: HashAlgorithm, key: &[u8]) -> Self {
        let block_len = algorithm.block_len();
        let mut block = [0; MAX_BLOCK_LEN];
        let block = &mut block[..block_len];
        if key.len() <= block_len {
            block[..key.len()].copy_from_slice(key);
        } else {
            let mut hash = Running::new(algorithm);
            hash.update(key);
            hash.finish(&mut block[..algorithm.output_len()]);
            hash.wipe();
        }
        block.iter_mut().for_each(|byte| *byte ^= INNER_PAD);
        let inner = Chaining::after(algorithm, block);
        block.iter_mut().for_each(|byte| *byte ^= INNER_PAD ^ OUTER_PAD);
        let outer = Chaining::after(algorithm, block);
        wipe(block);
        Self { inner, outer }
    }

    /// The hash function.
    #[must_use]
    pub fn algorithm(&self) -> HashAlgorithm {
        self.inner.algorithm()
    }

    /// The MAC of the parts, one after the other, as a value that will be public.
    #[must_use]
    #[inline]
    pub fn sign(&self, parts: &[&[u8]]) -> Digest {
        Digest::with(self.algorithm(), |out| self.mac(parts, out))
    }

    /// The MAC of the parts, as a value that stays secret.
    #[must_use]
    #[inline]
    pub fn secret_tag(&self, parts: &[&[u8]]) -> Secret {
        Secret::with(self.algorithm().output_len(), |out| self.mac(parts, out))
    }

    /// Whether `tag` is the MAC of the parts, whole and in constant time.
    #[must_use]
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        let expected = self.secret_tag(parts);
        constant_time_eq(expected.as_bytes(), tag)
    }

    /// Writes the MAC of the parts; `out` must have the digest's length.
    #[inline]
    pub(crate) fn mac(&self, parts: &[&[u8]], out: &mut [u8]) {
        let mut mac = self.start();
        for part in parts {
            mac.update(part);
        }
        mac.finish(out);
    }

    /// Starts a MAC whose message comes piece by piece.
    #[inline]
    pub(crate) fn start(&self) -> Mac<'_> {
        Mac { key: self, hash: self.inner.resume() }
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HmacKey({:?}, ..)", self.algorithm())
    }
}

/// A MAC under way.
pub(crate) struct Mac<'key> {
    key: &'key HmacKey,
    hash: Running,
}

impl Mac<'_> {
    #[inline]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// Writes the MAC; `out` must have the digest's length.
    #[inline]
    pub(crate) fn finish(mut self, out: &mut [u8]) {
        // The inner digest may stand in `out` for a moment: it is no secret from who gets `out`.
        self.hash.finish(out);
        let mut outer = self.key.outer.resume();
        outer.update(out);
        outer.finish(out);
        outer.wipe();
    }
}

impl Drop for Mac<'_> {
    fn drop(&mut self) {
        self.hash.wipe();
    }
}

/// A hash function's state after one block.
enum Chaining {
    Sha256([u32; 8]),
    Sha384([u64; 8]),
    Sha512([u64; 8]),
}

impl Chaining {
    fn after(algorithm: HashAlgorithm, block: &[u8]) -> Self {
        let mut hash = Running::new(algorithm);
        hash.update(block);
        let chaining = match &hash {
            Running::Sha256(context) => Self::Sha256(context.chaining_value()),
            Running::Sha384(context) => Self::Sha384(context.chaining_value()),
            Running::Sha512(context) => Self::Sha512(context.chaining_value()),
        };
        hash.wipe();
        chaining
    }

    #[inline]
    fn resume(&self) -> Running {
        match self {
            Self::Sha256(value) => Running::Sha256(Sha256::after_one_block(value)),
            Self::Sha384(value) => Running::Sha384(Sha512::after_one_block(value, 48)),
            Self::Sha512(value) => Running::Sha512(Sha512::after_one_block(value, 64)),
        }
    }

    fn algorithm(&self) -> HashAlgorithm {
        match self {
            Self::Sha256(_) => HashAlgorithm::Sha256,
            Self::Sha384(_) => HashAlgorithm::Sha384,
            Self::Sha512(_) => HashAlgorithm::Sha512,
        }
    }
}

impl Drop for Chaining {
    fn drop(&mut self) {
        match self {
            Self::Sha256(value) => crate::backend::memory::wipe_words(value),
            Self::Sha384(value) | Self::Sha512(value) => {
                crate::backend::memory::wipe_words(value);
            }
        }
    }
}

const INNER_PAD: u8 = 0x36;
const OUTER_PAD: u8 = 0x5c;
const MAX_BLOCK_LEN: usize = 128;
