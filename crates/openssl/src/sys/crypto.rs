//! Memory, initialization and ex_data of libcrypto.

use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};

super::opaque! {
    /// A hash table of pointers.
    HashTable,
}

/// The data that a program attaches to an object, by index.
#[repr(C)]
pub(crate) struct CryptoExData {
    pub(crate) context: *mut c_void,
    pub(crate) stack: *mut c_void,
}

pub(crate) const EX_INDEX_SSL: c_int = 0;
pub(crate) const EX_INDEX_SSL_CTX: c_int = 1;
pub(crate) const EX_INDEX_SSL_SESSION: c_int = 2;
pub(crate) const EX_INDEX_X509_STORE_CTX: c_int = 5;

pub(crate) const INIT_LOAD_CONFIG: u64 = 0x40;
pub(crate) const INIT_NO_LOAD_CONFIG: u64 = 0x80;

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn CRYPTO_new_ex_data(
        class: c_int,
        object: *mut c_void,
        data: *mut CryptoExData,
    ) -> c_int;
    pub(crate) fn CRYPTO_free_ex_data(class: c_int, object: *mut c_void, data: *mut CryptoExData);
    pub(crate) fn CRYPTO_get_ex_data(data: *const CryptoExData, index: c_int) -> *mut c_void;
    pub(crate) fn CRYPTO_set_ex_data(
        data: *mut CryptoExData,
        index: c_int,
        value: *mut c_void,
    ) -> c_int;
    pub(crate) fn CRYPTO_dup_ex_data(
        class: c_int,
        to: *mut CryptoExData,
        from: *const CryptoExData,
    ) -> c_int;
    pub(crate) fn CRYPTO_get_ex_new_index(
        class: c_int,
        long_argument: c_long,
        argument: *mut c_void,
        new: *const c_void,
        duplicate: *const c_void,
        free: *const c_void,
    ) -> c_int;
    pub(crate) fn CRYPTO_malloc(length: usize, file: *const c_char, line: c_int) -> *mut c_void;
    pub(crate) fn CRYPTO_free(memory: *mut c_void, file: *const c_char, line: c_int);
    pub(crate) fn SHA256(data: *const u8, length: usize, to: *mut u8) -> *mut u8;
    pub(crate) fn RAND_bytes(to: *mut u8, length: c_int) -> c_int;
    pub(crate) fn OPENSSL_LH_new(
        hash: Option<unsafe extern "C" fn(*const c_void) -> c_ulong>,
        compare: Option<unsafe extern "C" fn(*const c_void, *const c_void) -> c_int>,
    ) -> *mut HashTable;
    pub(crate) fn OPENSSL_LH_free(table: *mut HashTable);
    pub(crate) fn OSSL_LIB_CTX_get0_global_default() -> *mut c_void;
    pub(crate) fn EVP_default_properties_is_fips_enabled(library: *mut c_void) -> c_int;
    pub(crate) fn OPENSSL_init_crypto(options: u64, settings: *const c_void) -> c_int;

    // The sections of `openssl.cnf` for TLS, which libcrypto reads and libssl applies.
    pub(crate) fn conf_ssl_name_find(name: *const c_char, index: *mut usize) -> c_int;
    pub(crate) fn conf_ssl_get(
        index: usize,
        name: *mut *const c_char,
        count: *mut usize,
    ) -> *const c_void;
    pub(crate) fn conf_ssl_get_cmd(
        commands: *const c_void,
        index: usize,
        command: *mut *mut c_char,
        value: *mut *mut c_char,
    );
}
