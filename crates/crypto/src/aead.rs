//! Authenticated encryption with associated data.
//!
//! Each operation writes its result to the caller's buffer. The caller must never use a nonce twice
//! with one key. See `backend/aead.rs` for the implementations, and `random_nonce_key.rs` for a key
//! with random nonces.
//!
//! Keys of records are a type of their own, [`RecordKey`], for AWS-LC's FIPS module. It approves
//! AES-GCM only if it makes or checks the nonces itself. It checks those of records, and writes the
//! last one to the key. So a `RecordKey` seals by `&mut self`, and another [`AeadKey`] by `&self`.

use core::fmt;

use crate::algorithm::{AeadAlgorithm, AnyNonces, RecordNonces};
use crate::backend::aead::{self, AeadContext, Sealer};
use crate::error::CryptoError;

/// An expanded AEAD key in a boxed context, wiped on drop.
///
/// `N` says which nonces the key takes: [`AnyNonces`], or the [`RecordNonces`] of a [`RecordKey`].
/// The operations are the same, except that a `RecordKey` has to be borrowed exclusively to seal.
pub struct AeadKey<N = AnyNonces>(AeadContext<N>);

/// An expanded AEAD key for the records of one direction.
///
/// It seals records in the order of their nonces, and opens them in any order. With AWS-LC's FIPS
/// module, it fails to seal a record with AES-GCM whose nonce does not follow the previous one.
pub type RecordKey = AeadKey<RecordNonces>;

impl AeadKey {
    /// Expands a key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when its length is not [`AeadAlgorithm::key_len`].
    pub fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        AeadContext::new(algorithm, key).map(Self)
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
        seal(self.0.sealer(), nonce, aad, input, extra, out)
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
        seal_in_place(self.0.sealer(), nonce, aad, buffer, len, extra)
    }

    /// Seals `body` in place and returns its tag, for a caller that stores the two apart.
    ///
    /// # Errors
    ///
    /// [`CryptoError::LimitExceeded`] for a body longer than the algorithm allows.
    #[inline]
    pub fn seal_with_separate_tag(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
    ) -> Result<[u8; AeadAlgorithm::TAG_LEN], CryptoError> {
        let mut tag = [0; AeadAlgorithm::TAG_LEN];
        self.0.sealer().seal_in_place(nonce, aad, body, &mut tag)?;
        Ok(tag)
    }
}

impl RecordKey {
    /// Expands a key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when its length is not [`AeadAlgorithm::key_len`].
    pub fn with_nonces(
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        AeadContext::with_nonces(algorithm, nonces, key).map(Self)
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
        self.0.renew(algorithm, nonces, key).map(Self)
    }

    /// Seals `input` followed by `extra` into the start of `out`, as other keys do.
    ///
    /// # Errors
    ///
    /// As with other keys; [`CryptoError::LimitExceeded`] also for a nonce that is not allowed
    /// after the previous one, if AWS-LC is its FIPS module.
    #[inline(always)]
    pub fn seal(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        extra: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        seal(self.0.sealer(), nonce, aad, input, extra, out)
    }

    /// Seals the first `len` bytes of `buffer` in place, followed by `extra`, as other keys do.
    ///
    /// # Errors
    ///
    /// As [`Self::seal`].
    #[inline]
    pub fn seal_in_place(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        buffer: &mut [u8],
        len: usize,
        extra: &[u8],
    ) -> Result<usize, CryptoError> {
        seal_in_place(self.0.sealer(), nonce, aad, buffer, len, extra)
    }
}

impl<N> AeadKey<N> {
    /// The algorithm of the key.
    #[must_use]
    pub fn algorithm(&self) -> AeadAlgorithm {
        self.0.algorithm()
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
        self.0.open(nonce, aad, body, tag, out)?;
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
        self.0.open_in_place(nonce, aad, body, tag)?;
        Ok(len)
    }
}

impl<N> fmt::Debug for AeadKey<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AeadKey({:?}, ..)", self.algorithm())
    }
}

/// Whether the processor has instructions for AES and carry-less multiplication, so that AES-GCM
/// is faster than ChaCha20-Poly1305 and free of table look-ups.
#[must_use]
pub fn has_fast_aes() -> bool {
    aead::has_fast_aes()
}

/// [`AeadKey::seal`] with a context of either kind.
#[inline(always)]
fn seal(
    sealer: Sealer<'_>,
    nonce: &[u8; 12],
    aad: &[u8],
    input: &[u8],
    extra: &[u8],
    out: &mut [u8],
) -> Result<usize, CryptoError> {
    let total = sealed_len(input.len(), extra.len(), out.len())?;
    sealer.seal(nonce, aad, input, extra, &mut out[..total])?;
    Ok(total)
}

/// [`AeadKey::seal_in_place`] with a context of either kind.
#[inline]
fn seal_in_place(
    sealer: Sealer<'_>,
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
    sealer.seal_in_place(nonce, aad, body, tag)?;
    Ok(total)
}

#[inline]
fn sealed_len(input: usize, extra: usize, room: usize) -> Result<usize, CryptoError> {
    let total = input.checked_add(extra).and_then(|sum| sum.checked_add(AeadAlgorithm::TAG_LEN));
    total.filter(|total| *total <= room).ok_or(CryptoError::BufferTooSmall)
}

#[inline]
fn opened_len(sealed: &[u8]) -> Result<usize, CryptoError> {
    // An input shorter than a tag cannot be authentic, and must give the same error as a forgery.
    sealed.len().checked_sub(AeadAlgorithm::TAG_LEN).ok_or(CryptoError::Rejected)
}
