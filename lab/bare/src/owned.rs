//! Owners of AWS-LC's heap objects.

use core::ptr::NonNull;

use aws_lc_sys as lc;

/// An object of AWS-LC's heap, freed on drop.
pub(super) struct Owned<T: Object>(NonNull<T>);

/// A type of object and its destructor.
pub(super) trait Object {
    /// # Safety
    ///
    /// `object` must be owned by the caller, who must not use it again.
    unsafe fn free(object: *mut Self);
}

impl<T: Object> Owned<T> {
    /// # Panics
    ///
    /// If `object` is null: the call that makes it has failed.
    ///
    /// # Safety
    ///
    /// `object` must be null or a valid object owned by the caller.
    pub(super) unsafe fn new(object: *mut T) -> Self {
        Self(NonNull::new(object).expect("AWS-LC makes the object"))
    }

    /// The pointer, valid as long as the owner.
    pub(super) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Object> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only owner, and the object is not used after this.
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
    EC_KEY EC_KEY_free,
    EC_POINT EC_POINT_free,
    EVP_PKEY EVP_PKEY_free,
    EVP_PKEY_CTX EVP_PKEY_CTX_free,
    RSA RSA_free,
}
