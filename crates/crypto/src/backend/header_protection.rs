//! The block functions for QUIC header protection: AES of one block, and ChaCha20.
//!
//! See `header_protection.rs` above, which selects the function.

use core::ffi::c_uint;
use core::mem::MaybeUninit;

use super::lc;
use super::memory::cleanse;
use crate::error::CryptoError;

/// An expanded AES key at a fixed address, wiped on drop.
pub(crate) struct AesKey(Box<lc::AES_KEY>);

impl AesKey {
    /// Expands a key of 16 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Result<Self, CryptoError> {
        let bits: c_uint = match key.len() {
            16 => 128,
            32 => 256,
            _ => return Err(CryptoError::InvalidKey),
        };
        // `AES_KEY` is plain data. Not all of it is written for a key of 128 bits, so it is zeroed.
        let mut place = Box::new(MaybeUninit::<lc::AES_KEY>::zeroed());
        // SAFETY: `key` has `bits / 8` bytes, and `place` is an exclusive borrow of a whole key.
        let code = unsafe { lc::AES_set_encrypt_key(key.as_ptr(), bits, place.as_mut_ptr()) };
        // SAFETY: all bytes of the key are initialised, and every pattern is a valid value.
        let own = Self(unsafe { place.assume_init() });
        // This function returns 0 for success, other than most functions of AWS-LC.
        if code == 0 { Ok(own) } else { Err(super::failed(CryptoError::Internal)) }
    }

    /// Encrypts one block.
    #[inline]
    pub(crate) fn encrypt(&self, block: &[u8; 16]) -> [u8; 16] {
        let mut out = [0; 16];
        // SAFETY: input and output are one block each, and the key is expanded.
        unsafe { lc::AES_encrypt(block.as_ptr(), out.as_mut_ptr(), &raw const *self.0) };
        out
    }
}

impl Drop for AesKey {
    fn drop(&mut self) {
        // SAFETY: the key is exclusively borrowed, and zeros are a valid value.
        unsafe { cleanse(&raw mut *self.0) };
    }
}

/// Returns the first five bytes of the ChaCha20 key stream for this counter and nonce.
#[inline]
pub(crate) fn chacha20(key: &[u8; 32], counter: u32, nonce: &[u8; 12]) -> [u8; 5] {
    let (zeros, mut out) = ([0; 5], [0; 5]);
    // SAFETY: input and output have the length that is passed, key and nonce those that the
    // function requires; the output is an exclusive borrow.
    unsafe {
        lc::CRYPTO_chacha_20(
            out.as_mut_ptr(),
            zeros.as_ptr(),
            out.len(),
            key.as_ptr(),
            nonce.as_ptr(),
            counter,
        );
    }
    out
}
