//! Authenticated encryption of the records of one direction.
//!
//! A [`RecordKey`] seals records in the order of their nonces. With AWS-LC's FIPS module, which
//! approves AES-GCM only if it makes or checks the nonces itself, a key fails to seal a record
//! whose nonce does not follow the previous one. See `aead.rs` for keys with other nonces.

use core::fmt;

use crate::aead::{opened_len, sealed_len};
use crate::algorithm::{AeadAlgorithm, RecordNonces};
use crate::backend::record_aead::RecordContext;
use crate::error::CryptoError;

/// An expanded AEAD key for the records of one direction, in a boxed context, wiped on drop.
pub struct RecordKey {
    context: RecordContext,
    algorithm: AeadAlgorithm,
}

impl RecordKey {
    /// Expands a key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when its length is not [`AeadAlgorithm::key_len`].
    pub fn new(
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        let context = RecordContext::new(algorithm, nonces, key)?;
        Ok(Self { context, algorithm })
    }

    /// Expands another key into the same box. The old key is wiped first.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when the new key's length is not [`AeadAlgorithm::key_len`]. The
    /// old key is wiped in this case too.
    pub fn renew(
        self,
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        let context = self.context.renew(algorithm, nonces, key)?;
        Ok(Self { context, algorithm })
    }

    /// The algorithm of the key.
    #[must_use]
    pub fn algorithm(&self) -> AeadAlgorithm {
        self.algorithm
    }

    /// Seals `input` followed by `extra` into the start of `out`. See [`AeadKey::seal`].
    ///
    /// # Errors
    ///
    /// As [`AeadKey::seal`]; [`CryptoError::LimitExceeded`] also for a nonce that is not allowed
    /// after the previous one, if AWS-LC is its FIPS module.
    ///
    /// [`AeadKey::seal`]: crate::AeadKey::seal
    #[inline(always)]
    pub fn seal(
        &mut self,
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
            // For the reason given in `AeadKey::seal`.
            out[..input.len()].copy_from_slice(input);
            return self.seal_in_place(nonce, aad, out, input.len(), extra);
        }
        self.context.seal(nonce, aad, input, extra, &mut out[..total])?;
        Ok(total)
    }

    /// Seals the first `len` bytes of `buffer` in place. See [`AeadKey::seal_in_place`].
    ///
    /// # Errors
    ///
    /// As [`Self::seal`].
    ///
    /// [`AeadKey::seal_in_place`]: crate::AeadKey::seal_in_place
    #[inline]
    pub fn seal_in_place(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        buffer: &mut [u8],
        len: usize,
        extra: &[u8],
    ) -> Result<usize, CryptoError> {
        let total = sealed_len(len, extra.len(), buffer.len())?;
        let (body, tag) = buffer[..total].split_at_mut(total - AeadAlgorithm::TAG_LEN);
        body[len..].copy_from_slice(extra);
        self.context.seal_in_place(nonce, aad, body, tag)?;
        Ok(total)
    }

    /// Decrypts `sealed` into the start of `out`. Nonces need no order. See [`AeadKey::open`].
    ///
    /// # Errors
    ///
    /// As [`AeadKey::open`].
    ///
    /// [`AeadKey::open`]: crate::AeadKey::open
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

    /// Decrypts `buffer` in place. Nonces need no order. See [`AeadKey::open_in_place`].
    ///
    /// # Errors
    ///
    /// As [`AeadKey::open_in_place`].
    ///
    /// [`AeadKey::open_in_place`]: crate::AeadKey::open_in_place
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

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordKey({:?}, ..)", self.algorithm)
    }
}
