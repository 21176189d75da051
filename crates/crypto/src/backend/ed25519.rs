//! Ed25519, RFC 8032, with raw keys.
//!
//! See `signing_key.rs` and `public_key.rs` above. Version 3 of the FIPS module approves signatures
//! by the EVP interface only; later versions approve both, and this one is faster.

use super::lc;

#[cfg(not(fips_module_3))]
use super::check;
#[cfg(fips_module_3)]
use super::digest_sign::{self, Method};
#[cfg(fips_module_3)]
use super::handle::Handle;
use crate::error::CryptoError;

/// The length of AWS-LC's private form: the seed, then the public key.
pub(crate) const PRIVATE_LEN: usize = 64;

/// Writes the private form of a seed.
pub(crate) fn expand_seed(seed: &[u8; 32], private: &mut [u8; PRIVATE_LEN]) {
    let mut public = [0; 32];
    // SAFETY: the arrays have the 32 and 64 bytes written, and the 32 bytes read.
    unsafe {
        lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr());
    }
}

#[cfg(fips_module_3)]
pub(crate) fn sign(
    private: &[u8; PRIVATE_LEN],
    message: &[u8],
    signature: &mut [u8; 64],
) -> Result<(), CryptoError> {
    let (seed, none) = (&private[..32], core::ptr::null_mut());
    // SAFETY: `seed` is passed with its length; the result is null, or we own it.
    let key = unsafe {
        let start = seed.as_ptr();
        let key = lc::EVP_PKEY_new_raw_private_key(lc::EVP_PKEY_ED25519, none, start, seed.len());
        Handle::new(key, CryptoError::Internal)?
    };
    let mut made = Vec::with_capacity(64);
    digest_sign::sign(&key, Method::WITHOUT_HASH, message, 64, &mut made)?;
    *signature = made.try_into().map_err(|_| CryptoError::Internal)?;
    Ok(())
}

#[cfg(fips_module_3)]
pub(crate) fn verify(
    public: &[u8; 32],
    message: &[u8],
    signature: &[u8; 64],
) -> Result<(), CryptoError> {
    let none = core::ptr::null_mut();
    // SAFETY: `public` is passed with its length; the result is null, or we own it.
    let key = unsafe {
        let start = public.as_ptr();
        let key = lc::EVP_PKEY_new_raw_public_key(lc::EVP_PKEY_ED25519, none, start, public.len());
        Handle::new(key, CryptoError::Rejected)?
    };
    digest_sign::verify(&key, Method::WITHOUT_HASH, message, signature)
}

#[cfg(not(fips_module_3))]
pub(crate) fn sign(
    private: &[u8; PRIVATE_LEN],
    message: &[u8],
    signature: &mut [u8; 64],
) -> Result<(), CryptoError> {
    // SAFETY: `message` is passed with its length; the arrays have the documented sizes.
    let code = unsafe {
        lc::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr())
    };
    check(code, CryptoError::Internal)
}

#[cfg(not(fips_module_3))]
pub(crate) fn verify(
    public: &[u8; 32],
    message: &[u8],
    signature: &[u8; 64],
) -> Result<(), CryptoError> {
    // SAFETY: `message` is passed with its length; the arrays have the documented sizes.
    let code = unsafe {
        lc::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr())
    };
    check(code, CryptoError::Rejected)
}
