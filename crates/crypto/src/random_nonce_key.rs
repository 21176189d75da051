//! Authenticated encryption with nonces that AWS-LC draws.
//!
//! AWS-LC's FIPS module approves AES-GCM with such nonces, but not with nonces that a caller
//! chooses. See `aead.rs` for the latter, and for records.

use core::fmt;

use crate::algorithm::AeadAlgorithm;
use crate::backend::random_nonce::{OVERHEAD, RandomNonceContext};
use crate::error::CryptoError;

/// An AES-256-GCM key in a boxed context, wiped on drop. A random nonce is drawn for each message.
///
/// A sealed message is the ciphertext, the tag, and the nonce. One key should seal at most 2^32
/// messages (NIST SP 800-38D 8.3).
pub struct RandomNonceKey(RandomNonceContext);

impl RandomNonceKey {
    /// Whether AWS-LC is its FIPS module, so that messages other than records have to be sealed
    /// with this key and not with [`AeadKey`](crate::AeadKey).
    pub const IS_REQUIRED: bool = cfg!(feature = "fips");
    /// The length of a key.
    pub const KEY_LEN: usize = AeadAlgorithm::Aes256Gcm.key_len();
    /// The number of bytes by which a sealed message is longer.
    pub const OVERHEAD: usize = OVERHEAD;

    /// Expands a key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when its length is not [`Self::KEY_LEN`].
    pub fn new(key: &[u8]) -> Result<Self, CryptoError> {
        RandomNonceContext::new(key).map(Self)
    }

    /// Seals the first `len` bytes of `buffer` in place, writes tag and nonce after them, and
    /// returns the number of bytes written: `len + OVERHEAD`.
    ///
    /// # Errors
    ///
    /// [`CryptoError::BufferTooSmall`], with `buffer` unchanged; [`CryptoError::LimitExceeded`] for
    /// a message longer than the algorithm allows.
    pub fn seal_in_place(
        &self,
        aad: &[u8],
        buffer: &mut [u8],
        len: usize,
    ) -> Result<usize, CryptoError> {
        let total = len.checked_add(OVERHEAD).ok_or(CryptoError::BufferTooSmall)?;
        let sealed = buffer.get_mut(..total).ok_or(CryptoError::BufferTooSmall)?;
        let (body, end) = sealed.split_at_mut(len);
        self.0.seal(aad, body, end)?;
        Ok(total)
    }

    /// Decrypts `buffer`, a sealed message, in place. Returns the length of the plaintext.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Rejected`] when `buffer` is not authentic, with the ciphertext wiped.
    pub fn open_in_place(&self, aad: &[u8], buffer: &mut [u8]) -> Result<usize, CryptoError> {
        let len = buffer.len().checked_sub(OVERHEAD).ok_or(CryptoError::Rejected)?;
        let (body, end) = buffer.split_at_mut(len);
        self.0.open(aad, body, end)?;
        Ok(len)
    }
}

impl fmt::Debug for RandomNonceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RandomNonceKey(..)")
    }
}
