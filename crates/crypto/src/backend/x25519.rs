//! X25519, RFC 7748: private keys at a fixed address, public values and the shared secret.
//!
//! See `key_exchange.rs` above.

use super::check;
use super::handle::{Handle, Object};
use super::lc;
use super::memory::cleanse;
use crate::error::CryptoError;

/// A private key on AWS-LC's heap, like the keys of the other curves: its owner can be moved
/// without leaving a copy of the key behind.
pub(crate) struct PrivateKey(Handle<Scalar>);

/// The 32 bytes of a private key; any value is valid. RFC 7748 5
struct Scalar([u8; 32]);

impl Object for Scalar {
    unsafe fn free(object: *mut Self) {
        // SAFETY: the caller's promise. `PrivateKey::new` allocated the block for this type, and
        // zeros are valid.
        unsafe {
            cleanse(object);
            lc::OPENSSL_free(object.cast());
        }
    }
}

// SAFETY: the bytes do not change after `PrivateKey::new`.
unsafe impl Send for Handle<Scalar> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Handle<Scalar> {}

impl PrivateKey {
    /// Copies a private key to the heap.
    pub(crate) fn new(bytes: &[u8; 32]) -> Result<Self, CryptoError> {
        // SAFETY: the block is null, or ours, large enough for a scalar and aligned for any type.
        // It is written completely, from 32 readable bytes elsewhere, before it is used.
        unsafe {
            let scalar = lc::OPENSSL_malloc(size_of::<Scalar>()).cast::<Scalar>();
            if !scalar.is_null() {
                scalar.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
            Handle::new(scalar, CryptoError::Internal).map(Self)
        }
    }

    /// The bytes, by reference.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        // SAFETY: `new` initialised the key, which is valid as long as the handle.
        unsafe { &(*self.0.as_ptr()).0 }
    }
}

/// The public value of a given private key.
pub(crate) fn public_from_private(private: &[u8; 32]) -> [u8; 32] {
    let mut public = [0; 32];
    // SAFETY: the arrays have the 32 bytes that are written and read.
    unsafe { lc::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

/// The shared secret, unless it would be all zeros (RFC 7748 6.1).
pub(crate) fn agree(
    private: &[u8; 32],
    peer: &[u8; 32],
    out: &mut [u8; 32],
) -> Result<(), CryptoError> {
    // SAFETY: the arrays have the 32 bytes that are written and read.
    let code = unsafe { lc::X25519(out.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    check(code, CryptoError::InvalidShare)
}
