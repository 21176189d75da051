//! Hash functions: the hash of a message in one call or in parts, and intermediate digests.
//!
//! SHA-2 is computed on the stack, without a heap allocation. See `hmac.rs` for keyed hashing and
//! `backend/sha.rs` for the calls.
//!
//! A hash in progress takes 224 bytes. It is meant for public data and is not wiped;
//! [`crate::HmacKey`] wipes the states it uses.

use core::fmt;
use core::ops::Deref;

use crate::algorithm::HashAlgorithm;
use crate::backend::sha::{Context, Sha256, Sha512};

/// A digest: a public value, stored inline.
#[derive(Clone, Copy)]
pub struct Digest {
    bytes: [u8; Self::MAX_LEN],
    len: u8,
}

impl Digest {
    /// The length of the longest digest.
    pub const MAX_LEN: usize = 64;

    /// A digest of the algorithm's length, written in place by `write`.
    pub(crate) fn with(algorithm: HashAlgorithm, write: impl FnOnce(&mut [u8])) -> Self {
        let len = algorithm.output_len();
        let mut bytes = [0; Self::MAX_LEN];
        write(&mut bytes[..len]);
        // An output length is at most 64.
        #[allow(clippy::cast_possible_truncation)]
        let len = len as u8;
        Self { bytes, len }
    }

    /// The bytes, for a digest that has to be wiped.
    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Deref for Digest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(")?;
        for byte in self.iter() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// SHA-1, by which X.509 and OCSP identify keys and issuers. RFC 6960 4.1.1, RFC 5280 4.2.1.2
///
/// SHA-1 is not collision resistant, so the digest is an identifier and not a proof. For this
/// reason it is not a [`HashAlgorithm`]: no signature, key or transcript can use it.
#[must_use]
pub fn sha1_name(message: &[u8]) -> [u8; 20] {
    crate::backend::sha::sha1(message)
}

/// A hash in progress, stored inline.
#[derive(Clone)]
pub struct Hash(Running);

impl Hash {
    /// Starts a hash.
    #[must_use]
    #[inline]
    pub fn new(algorithm: HashAlgorithm) -> Self {
        Self(Running::new(algorithm))
    }

    /// The hash function.
    #[must_use]
    pub fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }

    /// Appends bytes to the message.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of the message.
    #[must_use]
    #[inline]
    pub fn finish(mut self) -> Digest {
        Digest::with(self.algorithm(), |out| self.0.finish(out))
    }

    /// The digest of the message so far; the hash keeps running.
    #[must_use]
    #[inline]
    pub fn current_digest(&self) -> Digest {
        let mut fork = self.0.clone();
        Digest::with(self.algorithm(), |out| fork.finish(out))
    }

    /// The number of bytes that complete the current block; `None` for SHA-256, which is not
    /// computed in lanes.
    pub(crate) fn to_boundary(&self) -> Option<usize> {
        match &self.0 {
            Running::Sha256(_) => None,
            Running::Sha384(context) | Running::Sha512(context) => Some(context.to_boundary()),
        }
    }

    /// The state at the block boundary after `lead`, which must have [`Self::to_boundary`] bytes;
    /// `None` for SHA-256, whose state does not change.
    pub(crate) fn at_boundary(&mut self, lead: &[u8]) -> Option<[u64; 8]> {
        match &mut self.0 {
            Running::Sha256(_) => None,
            Running::Sha384(context) | Running::Sha512(context) => {
                context.update(lead);
                Some(context.chaining())
            }
        }
    }

    /// Continues from `state`, the result of compressing this number of blocks in lanes.
    pub(crate) fn resume_from(&mut self, state: &[u64; 8], blocks: u64) {
        if let Running::Sha384(context) | Running::Sha512(context) = &mut self.0 {
            context.resume_from(state, blocks);
        }
    }

    /// The digest of the concatenated parts.
    #[must_use]
    #[inline]
    pub fn digest(algorithm: HashAlgorithm, parts: &[&[u8]]) -> Digest {
        // Each context is made where it is used: moving one takes a third of the time of a block.
        Digest::with(algorithm, |out| match algorithm {
            HashAlgorithm::Sha256 => hash_into(Sha256::new, parts, out),
            HashAlgorithm::Sha384 => hash_into(Sha512::new_384, parts, out),
            HashAlgorithm::Sha512 => hash_into(Sha512::new_512, parts, out),
        })
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({:?}, ..)", self.algorithm())
    }
}

#[inline(always)]
fn hash_into<C: Context>(start: impl FnOnce() -> C, parts: &[&[u8]], out: &mut [u8]) {
    let mut context = start();
    parts.iter().for_each(|part| context.update(part));
    context.finish(out);
}

/// The contexts of [`struct@Hash`].
#[derive(Clone)]
enum Running {
    Sha256(Sha256),
    Sha384(Sha512),
    Sha512(Sha512),
}

impl Running {
    #[inline]
    fn new(algorithm: HashAlgorithm) -> Self {
        match algorithm {
            HashAlgorithm::Sha256 => Self::Sha256(Sha256::new()),
            HashAlgorithm::Sha384 => Self::Sha384(Sha512::new_384()),
            HashAlgorithm::Sha512 => Self::Sha512(Sha512::new_512()),
        }
    }

    fn algorithm(&self) -> HashAlgorithm {
        match self {
            Self::Sha256(_) => HashAlgorithm::Sha256,
            Self::Sha384(_) => HashAlgorithm::Sha384,
            Self::Sha512(_) => HashAlgorithm::Sha512,
        }
    }

    #[inline]
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(context) => context.update(bytes),
            Self::Sha384(context) | Self::Sha512(context) => context.update(bytes),
        }
    }

    /// Writes the digest; `out` must have exactly its length.
    #[inline]
    fn finish(&mut self, out: &mut [u8]) {
        match self {
            Self::Sha256(context) => context.finish(out),
            Self::Sha384(context) | Self::Sha512(context) => context.finish(out),
        }
    }
}
