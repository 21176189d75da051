//! Data that a program attaches to an object, by index.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr;

use crate::sys::crypto::{
    CRYPTO_dup_ex_data, CRYPTO_free_ex_data, CRYPTO_get_ex_data, CRYPTO_new_ex_data,
    CRYPTO_set_ex_data, CryptoExData,
};

/// The data of an object. Its owner calls [`Self::attach`] after the object has its address, and
/// [`Self::detach`] before the object is freed.
pub(crate) struct ExData {
    class: c_int,
    data: UnsafeCell<CryptoExData>,
}

// SAFETY: libcrypto locks what threads share. As with OpenSSL, a program does not set the data of
// one object in two threads at once.
unsafe impl Send for ExData {}
// SAFETY: as for Send.
unsafe impl Sync for ExData {}

impl ExData {
    pub(crate) fn new(class: c_int) -> Self {
        let data = CryptoExData { context: ptr::null_mut(), stack: ptr::null_mut() };
        Self { class, data: UnsafeCell::new(data) }
    }

    /// Runs the program's functions for new objects.
    pub(crate) fn attach(&self, object: *mut c_void) {
        // SAFETY: the data exist, and are empty.
        unsafe { CRYPTO_new_ex_data(self.class, object, self.data.get()) };
    }

    /// Runs the program's functions for freed objects.
    pub(crate) fn detach(&self, object: *mut c_void) {
        // SAFETY: the data exist. libcrypto empties them, so a second call has no effect.
        unsafe { CRYPTO_free_ex_data(self.class, object, self.data.get()) };
    }

    /// Copies the data of another object, after [`Self::attach`], by the program's functions for
    /// copies.
    pub(crate) fn copy_from(&self, other: &Self) {
        // SAFETY: the data of both exist.
        unsafe { CRYPTO_dup_ex_data(self.class, self.data.get(), other.data.get()) };
    }

    pub(crate) fn get(&self, index: c_int) -> *mut c_void {
        // SAFETY: the data exist; libcrypto checks the index.
        unsafe { CRYPTO_get_ex_data(self.data.get(), index) }
    }

    pub(crate) fn set(&self, index: c_int, value: *mut c_void) -> c_int {
        // SAFETY: as in `get`.
        unsafe { CRYPTO_set_ex_data(self.data.get(), index, value) }
    }
}
