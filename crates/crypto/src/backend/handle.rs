//! Owners of AWS-LC's heap objects, which free each object once, with its own function.

use core::ops::Deref;
use core::ptr::{self, NonNull};

use super::lc;
use super::non_null;
use crate::error::CryptoError;

/// An object of AWS-LC's heap, freed on drop.
pub(super) struct Handle<T: Object>(NonNull<T>);

/// A type of object and its destructor.
pub(super) trait Object {
    /// # Safety
    ///
    /// `object` must be owned by the caller, who must not use it again.
    unsafe fn free(object: *mut Self);
}

impl<T: Object> Handle<T> {
    /// Takes ownership of a new object; null becomes `error`.
    ///
    /// # Safety
    ///
    /// `object` must be null or a valid object owned by the caller.
    pub(super) unsafe fn new(object: *mut T, error: CryptoError) -> Result<Self, CryptoError> {
        non_null(object, error).map(Self)
    }

    /// The pointer, valid as long as the handle.
    pub(super) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl Handle<lc::EVP_PKEY> {
    /// A context for operations with this key.
    pub(super) fn context(&self) -> Result<Handle<lc::EVP_PKEY_CTX>, CryptoError> {
        // SAFETY: the key is valid, and the context takes its own reference; we own the result.
        unsafe {
            let context = lc::EVP_PKEY_CTX_new(self.as_ptr(), ptr::null_mut());
            Handle::new(context, CryptoError::Internal)
        }
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the handle is the only owner, and is not used after this.
        unsafe { T::free(self.0.as_ptr()) };
    }
}

macro_rules! objects {
    ($($object:ident $free:ident,)*) => {$(
        impl Object for lc::$object {
            unsafe fn free(object: *mut Self) {
                // SAFETY: the caller's promise.
                unsafe { lc::$free(object) };
            }
        }
    )*};
}

objects! {
    BIGNUM BN_clear_free,
    BN_CTX BN_CTX_free,
    EC_KEY EC_KEY_free,
    EC_POINT EC_POINT_free,
    EVP_HPKE_CTX EVP_HPKE_CTX_free,
    EVP_HPKE_KEY EVP_HPKE_KEY_free,
    EVP_MD_CTX EVP_MD_CTX_free,
    EVP_PKEY EVP_PKEY_free,
    EVP_PKEY_CTX EVP_PKEY_CTX_free,
    RSA RSA_free,
}

// SAFETY: AWS-LC's keys may be used by several threads at once while none modifies them, and
// nothing in this crate modifies a key after it is built.
unsafe impl Send for Handle<lc::EC_KEY> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Handle<lc::EC_KEY> {}
// SAFETY: as for `EC_KEY`.
unsafe impl Send for Handle<lc::EVP_PKEY> {}
// SAFETY: as for `EC_KEY`.
unsafe impl Sync for Handle<lc::EVP_PKEY> {}
// SAFETY: as for `EC_KEY`.
unsafe impl Send for Handle<lc::EVP_HPKE_KEY> {}
// SAFETY: as for `EC_KEY`.
unsafe impl Sync for Handle<lc::EVP_HPKE_KEY> {}
// SAFETY: AWS-LC's contexts are bound to no thread; a context is used only through `&mut`.
unsafe impl Send for Handle<lc::EVP_HPKE_CTX> {}
// SAFETY: as for `Send`; no function takes a shared reference to a context.
unsafe impl Sync for Handle<lc::EVP_HPKE_CTX> {}
// SAFETY: as for `EC_KEY`; AWS-LC guards the values that RSA caches on first use by a lock.
unsafe impl Send for Handle<lc::RSA> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Handle<lc::RSA> {}

/// Bytes that AWS-LC has allocated, freed on drop.
pub(crate) struct Bytes {
    start: NonNull<u8>,
    len: usize,
}

impl Bytes {
    /// # Safety
    ///
    /// `start` must be null or an `OPENSSL_malloc` block of `len` initialised bytes owned by the
    /// caller.
    pub(super) unsafe fn new(start: *mut u8, len: usize) -> Result<Self, CryptoError> {
        Ok(Self { start: non_null(start, CryptoError::Internal)?, len })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the promise to `new`; the block lives as long as `self`.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: we own the block, and do not use it again.
        unsafe { lc::OPENSSL_free(self.start.as_ptr().cast()) };
    }
}
