//! Stores of trusted certificates, and parameters of verification.

use core::ffi::{c_char, c_int, c_long};

use crate::errors;
use crate::sys::crypto::CRYPTO_free;
use crate::sys::x509::{
    CTLOG_STORE, CTLOG_STORE_free, X509_LOOKUP_ctrl, X509_LOOKUP_file, X509_LOOKUP_hash_dir,
    X509_LOOKUP_store, X509_STORE, X509_STORE_CTX, X509_STORE_CTX_free, X509_STORE_add_lookup,
    X509_STORE_free, X509_STORE_new, X509_STORE_up_ref, X509_VERIFY_PARAM, X509_VERIFY_PARAM_free,
    X509_VERIFY_PARAM_get_depth, X509_VERIFY_PARAM_get1_ip_asc, X509_VERIFY_PARAM_inherit,
    X509_VERIFY_PARAM_move_peername, X509_VERIFY_PARAM_new, X509_VERIFY_PARAM_set_depth,
    X509_VERIFY_PARAM_set1_ip_asc,
};

super::owned! {
    /// A store of trusted certificates and revocation lists.
    Store, X509_STORE, X509_STORE_free, X509_STORE_up_ref
}

super::owned! {
    /// Logs of certificate transparency.
    CtLogs, CTLOG_STORE, CTLOG_STORE_free
}

impl Store {
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: a new store is returned, or NULL.
        unsafe { Self::from_raw(X509_STORE_new()) }
    }

    /// Adds one of the default sources of trusted certificates. Whether that is done; a source that
    /// does not exist is no error.
    pub(crate) fn load_default(&self, source: Defaults) -> bool {
        const DEFAULT_FILE_TYPE: c_long = 3;
        // SAFETY: the store exists, and owns what is added to it. The commands take no pointer.
        unsafe {
            let (method, command) = match source {
                Defaults::File => (X509_LOOKUP_file(), 1),
                Defaults::Folder => (X509_LOOKUP_hash_dir(), 2),
                Defaults::Store => (X509_LOOKUP_store(), 3),
            };
            let lookup = X509_STORE_add_lookup(self.as_ptr(), method);
            if lookup.is_null() {
                return false;
            }
            let (none, kind) = (core::ptr::null(), DEFAULT_FILE_TYPE);
            errors::without_errors(|| {
                X509_LOOKUP_ctrl(lookup, command, none, kind, core::ptr::null_mut())
            });
            true
        }
    }
}

/// A default source of trusted certificates.
#[derive(Clone, Copy)]
pub(crate) enum Defaults {
    File,
    Folder,
    Store,
}

super::owned! {
    /// The verification or the building of a chain.
    Verification, X509_STORE_CTX, X509_STORE_CTX_free
}

super::owned! {
    /// The parameters of a verification.
    Parameters, X509_VERIFY_PARAM, X509_VERIFY_PARAM_free
}

impl Parameters {
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: new parameters are returned, or NULL.
        unsafe { Self::from_raw(X509_VERIFY_PARAM_new()) }
    }

    /// New parameters with those of `self` that are set.
    pub(crate) fn inherited(&self) -> Option<Self> {
        let new = Self::new()?;
        // SAFETY: both exist during the call.
        unsafe { X509_VERIFY_PARAM_inherit(new.as_ptr(), self.as_ptr()) };
        Some(new)
    }

    /// Sets the address that a certificate must have, if the text is one, and returns whether. An
    /// address is not compared with DNS names.
    ///
    /// # Safety
    /// The pointer is NULL or to a text.
    pub(crate) unsafe fn set_address(&self, text: *const c_char) -> bool {
        // SAFETY: as this function's contract; the parameters exist.
        !text.is_null() && unsafe { X509_VERIFY_PARAM_set1_ip_asc(self.as_ptr(), text) } == 1
    }

    /// Whether a certificate must have an address.
    pub(crate) fn has_address(&self) -> bool {
        // Without an address, the function adds an error.
        // SAFETY: the parameters exist. The text, or NULL, is freed once.
        errors::without_errors(|| unsafe {
            let address = X509_VERIFY_PARAM_get1_ip_asc(self.as_ptr());
            CRYPTO_free(address.cast(), core::ptr::null(), 0);
            !address.is_null()
        })
    }

    /// Forgets the name of the peer's certificate that matched.
    pub(crate) fn forget_peer_name(&self) {
        // SAFETY: the parameters exist, and NULL has no name.
        unsafe { X509_VERIFY_PARAM_move_peername(self.as_ptr(), core::ptr::null_mut()) };
    }

    pub(crate) fn set_depth(&self, depth: c_int) {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_set_depth(self.as_ptr(), depth) };
    }

    pub(crate) fn depth(&self) -> c_int {
        // SAFETY: the parameters exist.
        unsafe { X509_VERIFY_PARAM_get_depth(self.as_ptr()) }
    }
}
