//! Initialization, and what belongs to no object.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::LazyLock;

use super::{FAIL, OK};
use crate::entry::functions;
use crate::errors;
use crate::sys::crypto::{INIT_LOAD_CONFIG, INIT_NO_LOAD_CONFIG, OPENSSL_init_crypto};
use crate::sys::stack::{OPENSSL_sk_new_null, Stack};

/// An empty list, or the list that the program has set, which it may use until it sets another one.
// SAFETY: a new list is returned, or NULL.
static COMPRESSION_METHODS: LazyLock<AtomicPtr<Stack>> =
    LazyLock::new(|| AtomicPtr::new(unsafe { OPENSSL_sk_new_null() }));

functions! {
    fn OPENSSL_init_ssl(; options: u64, settings: *const c_void) -> c_int = FAIL => {
        errors::load_texts();
        let loads = if options & INIT_NO_LOAD_CONFIG == 0 { INIT_LOAD_CONFIG } else { 0 };
        // SAFETY: the settings are the program's for libcrypto.
        unsafe { OPENSSL_init_crypto(options | loads, settings) }
    }
    fn ERR_load_SSL_strings(;) -> c_int = FAIL => {
        errors::load_texts();
        OK
    }
    fn SSL_get_ex_data_X509_STORE_CTX_idx(;) -> c_int = -1 => {
        crate::connection::verification::ex_index()
    }
    /// There are no methods of compression, but the list of the program is kept.
    fn SSL_COMP_get_compression_methods(;) -> *mut Stack = core::ptr::null_mut() => {
        COMPRESSION_METHODS.load(Ordering::Acquire)
    }
    fn SSL_COMP_set0_compression_methods(; methods: *mut Stack) -> *mut Stack = core::ptr::null_mut() => {
        COMPRESSION_METHODS.swap(methods, Ordering::AcqRel)
    }
    fn SSL_select_next_proto(;
        out: *mut *mut u8, out_length: *mut u8, server: *const u8, server_length: u32,
        client: *const u8, client_length: u32,
    ) -> c_int = 2 => {
        // SAFETY: the caller's duty.
        let lists = unsafe { (super::bytes(server, server_length), super::bytes(client, client_length)) };
        let (selected, result) = super::names::select_protocol(lists.0, lists.1);
        // SAFETY: the caller's duty. The result is a part of one of both lists.
        unsafe {
            super::store(out, selected.map_or(core::ptr::null_mut(), |name| name.as_ptr().cast_mut()));
            super::store(out_length, selected.map_or(0, |name| u8::try_from(name.len()).unwrap_or(0)));
        }
        result
    }
}
