//! AES-256-GCM for which AWS-LC draws the nonces.
//!
//! A sealed message is the ciphertext, the tag, and the nonce. See `random_nonce_key.rs` above.

use core::mem::MaybeUninit;
use core::ptr;

use super::check;
use super::lc;
use super::memory::cleanse;
use crate::algorithm::AeadAlgorithm;
use crate::error::CryptoError;

/// The number of bytes after the ciphertext: tag and nonce.
pub(crate) const OVERHEAD: usize = AeadAlgorithm::TAG_LEN + AeadAlgorithm::NONCE_LEN;

/// An initialised context at a fixed address, wiped on drop.
pub(crate) struct RandomNonceContext(Box<MaybeUninit<lc::EVP_AEAD_CTX>>);

// SAFETY: as for `evp_aead::Context`: no call writes to the context until it is dropped. Nonces
// come from the generator, whose state belongs to the thread.
unsafe impl Send for RandomNonceContext {}
// SAFETY: as for `Send`.
unsafe impl Sync for RandomNonceContext {}

impl RandomNonceContext {
    /// Expands a key of 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Result<Self, CryptoError> {
        if key.len() != AeadAlgorithm::Aes256Gcm.key_len() {
            return Err(CryptoError::InvalidKey);
        }
        let mut place = Box::new_uninit();
        // SAFETY: the place is aligned and large enough; `key` is passed with its length; there is
        // no engine; the table is static.
        let code = unsafe {
            lc::EVP_AEAD_CTX_init(
                place.as_mut_ptr(),
                lc::EVP_aead_aes_256_gcm_randnonce(),
                key.as_ptr(),
                key.len(),
                OVERHEAD,
                ptr::null_mut(),
            )
        };
        check(code, CryptoError::Internal)?;
        Ok(Self(place))
    }

    /// Encrypts `body` in place, and writes the tag and the nonce to `end`, of [`OVERHEAD`] bytes.
    pub(crate) fn seal(
        &self,
        aad: &[u8],
        body: &mut [u8],
        end: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(end.len() == OVERHEAD);
        let (mut written, out, len) = (0, body.as_mut_ptr(), body.len());
        // SAFETY: every pointer is passed with the length of its slice; input and output are the
        // same, which AWS-LC allows, and `end` is a separate borrow; the nonce is empty; the
        // context is initialised.
        let code = unsafe {
            lc::EVP_AEAD_CTX_seal_scatter(
                self.0.as_ptr(),
                out,
                end.as_mut_ptr(),
                &raw mut written,
                end.len(),
                ptr::null(),
                0,
                out.cast_const(),
                len,
                ptr::null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        check(code, CryptoError::LimitExceeded)?;
        debug_assert_eq!(written, OVERHEAD);
        Ok(())
    }

    /// Decrypts `body` in place if `end`, the tag and the nonce, authenticate it; else wipes it.
    pub(crate) fn open(&self, aad: &[u8], body: &mut [u8], end: &[u8]) -> Result<(), CryptoError> {
        let (out, len) = (body.as_mut_ptr(), body.len());
        // SAFETY: as in `seal`. On failure AWS-LC fills all of `body` with zeros.
        let code = unsafe {
            lc::EVP_AEAD_CTX_open_gather(
                self.0.as_ptr(),
                out,
                ptr::null(),
                0,
                out.cast_const(),
                len,
                end.as_ptr(),
                end.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        check(code, CryptoError::Rejected)
    }
}

impl Drop for RandomNonceContext {
    fn drop(&mut self) {
        // AES-GCM's clean-up wipes nothing, so the expanded key is wiped here.
        // SAFETY: the context is initialised and exclusively borrowed, and not used again.
        unsafe {
            lc::EVP_AEAD_CTX_cleanup(self.0.as_mut_ptr());
            cleanse(self.0.as_mut_ptr());
        }
    }
}
