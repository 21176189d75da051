//! Authenticated encryption with associated data.
//!
//! Each operation writes its result to the caller's buffer. Only [`AeadKey::seal`] copies its input
//! to that buffer first, if there are extra bytes and AWS-LC computes ChaCha20-Poly1305. The
//! caller must never use a nonce twice with one key. See `backend/evp_aead.rs` for the calls of
//! AWS-LC, `record_key.rs` for the keys of records, and `random_nonce_key.rs` for a key with random
//! nonces.

use core::fmt;

use crate::algorithm::AeadAlgorithm;
use crate::backend;
use crate::error::CryptoError;

/// An expanded AEAD key in a boxed context, wiped on drop.
pub struct AeadKey {
    context: backend::aead::AeadContext,
    algorithm: AeadAlgorithm,
}

impl AeadKey {
    /// Expands a key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when its length is not [`AeadAlgorithm::key_len`].
    pub fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        let context = backend::aead::AeadContext::new(algorithm, key)?;
        Ok(Self { context, algorithm })
    }

    /// Expands another key into the same box. The old key is wiped first.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when the new key's length is not [`AeadAlgorithm::key_len`]. The
    /// old key is wiped in this case too.
    pub fn renew(self, algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        let context = self.context.renew(algorithm, key)?;
        Ok(Self { context, algorithm })
    }

    /// The algorithm of the key.
    #[must_use]
    pub fn algorithm(&self) -> AeadAlgorithm {
        self.algorithm
    }

    /// Seals `input` followed by `extra` into the start of `out`, writes the tag after it, and
    /// returns the number of bytes written: `input.len() + extra.len() + TAG_LEN`.
    ///
    /// `extra` is for the few bytes that a protocol appends to the caller's data, so that the data
    /// need not be copied.
    ///
    /// # Errors
    ///
    /// [`CryptoError::BufferTooSmall`], with `out` unchanged; [`CryptoError::LimitExceeded`] for
    /// a message longer than the algorithm allows, with the bytes written so far wiped.
    #[inline(always)]
    pub fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        extra: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let total = sealed_len(input.len(), extra.len(), out.len())?;
        if self.algorithm == AeadAlgorithm::ChaCha20Poly1305
            && !extra.is_empty()
            && self.context.is_by_aws_lc()
        {
            // For this algorithm AWS-LC runs the cipher a second time for `extra`. Copying the
            // input into place is cheaper: by 140 ns up to 1 KiB, by 100 ns at 4 KiB, and about
            // equal at 16 KiB.
            out[..input.len()].copy_from_slice(input);
            return self.seal_in_place(nonce, aad, out, input.len(), extra);
        }
        self.context.seal(nonce, aad, input, extra, &mut out[..total])?;
        Ok(total)
    }

    /// Seals the first `len` bytes of `buffer` in place, followed by `extra`, writes the tag after
    /// it, and returns the number of bytes written.
    ///
    /// # Errors
    ///
    /// As [`Self::seal`].
    #[inline]
    pub fn seal_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buffer: &mut [u8],
        len: usize,
        extra: &[u8],
    ) -> Result<usize, CryptoError> {
        let total = sealed_len(len, extra.len(), buffer.len())?;
        let (body, tag) = buffer[..total].split_at_mut(total - AeadAlgorithm::TAG_LEN);
        // Sealing the data and `extra` as one input is cheaper than a second, scattered input.
        body[len..].copy_from_slice(extra);
        self.context.seal_in_place(nonce, aad, body, tag)?;
        Ok(total)
    }

    /// Decrypts `sealed`, which is the ciphertext followed by the tag, into the start of `out`.
    /// Returns the length of the plaintext.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Rejected`] when `sealed` is not authentic, with the bytes written to `out`
    /// wiped; [`CryptoError::BufferTooSmall`], with `out` unchanged.
    #[inline]
    pub fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let len = opened_len(sealed)?;
        let (body, tag) = sealed.split_at(len);
        let out = out.get_mut(..len).ok_or(CryptoError::BufferTooSmall)?;
        self.context.open(nonce, aad, body, tag, out)?;
        Ok(len)
    }

    /// Decrypts `buffer`, which is the ciphertext followed by the tag, in place. Returns the length
    /// of the plaintext.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Rejected`] when `buffer` is not authentic, with the ciphertext wiped.
    #[inline]
    pub fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buffer: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let len = opened_len(buffer)?;
        let (body, tag) = buffer.split_at_mut(len);
        self.context.open_in_place(nonce, aad, body, tag)?;
        Ok(len)
    }
}

impl fmt::Debug for AeadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AeadKey({:?}, ..)", self.algorithm)
    }
}

/// Whether the processor has instructions for AES and carry-less multiplication, so that AES-GCM
/// is faster than ChaCha20-Poly1305 and free of table look-ups.
#[must_use]
pub fn has_fast_aes() -> bool {
    backend::aead::has_fast_aes()
}

#[inline]
pub(crate) fn sealed_len(input: usize, extra: usize, room: usize) -> Result<usize, CryptoError> {
    let total = input.checked_add(extra).and_then(|sum| sum.checked_add(AeadAlgorithm::TAG_LEN));
    total.filter(|total| *total <= room).ok_or(CryptoError::BufferTooSmall)
}

#[inline]
pub(crate) fn opened_len(sealed: &[u8]) -> Result<usize, CryptoError> {
    // An input shorter than a tag cannot be authentic, and must give the same error as a forgery.
    sealed.len().checked_sub(AeadAlgorithm::TAG_LEN).ok_or(CryptoError::Rejected)
}
