//! Ed25519, RFC 8032, with raw keys.
//!
//! See `signing_key.rs` and `public_key.rs` above.

use super::lc;

use super::check;
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
