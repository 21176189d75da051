//! X509: certificates, names, stores and their verification; reading of PEM and DER.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_void};

use super::bio::BIO;
use super::evp::EVP_PKEY;
pub(crate) use super::evp::PasswordCallback;
use super::stack::Stack;

super::opaque! {
    /// A certificate.
    X509,
    /// A distinguished name.
    X509_NAME,
    /// Logs of certificate transparency.
    CTLOG_STORE,
    /// A set of trusted certificates and revocation lists.
    X509_STORE,
    /// One verification of a chain.
    X509_STORE_CTX,
    /// A source of certificates of a store.
    X509_LOOKUP,
    /// A kind of source.
    X509_LOOKUP_METHOD,
    /// The parameters of a verification.
    X509_VERIFY_PARAM,
}

/// A program's function that sees each step of a verification, and may change its result.
pub(crate) type VerifyCallback = Option<unsafe extern "C" fn(c_int, *mut X509_STORE_CTX) -> c_int>;

pub(crate) const V_OK: c_long = 0;
pub(crate) const V_ERR_UNSPECIFIED: c_int = 1;

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn d2i_X509(
        to: *mut *mut X509,
        from: *mut *const c_uchar,
        length: c_long,
    ) -> *mut X509;
    pub(crate) fn i2d_X509(certificate: *const X509, to: *mut *mut c_uchar) -> c_int;
    pub(crate) fn X509_up_ref(certificate: *mut X509) -> c_int;
    pub(crate) fn X509_free(certificate: *mut X509);
    pub(crate) fn X509_get0_pubkey(certificate: *const X509) -> *mut EVP_PKEY;
    pub(crate) fn X509_get_extension_flags(certificate: *mut X509) -> u32;
    pub(crate) fn X509_get_signature_info(
        certificate: *mut X509,
        digest: *mut c_int,
        algorithm: *mut c_int,
        bits: *mut c_int,
        flags: *mut u32,
    ) -> c_int;
    pub(crate) fn X509_get_subject_name(certificate: *const X509) -> *mut X509_NAME;
    pub(crate) fn X509_check_private_key(certificate: *const X509, key: *const EVP_PKEY) -> c_int;
    pub(crate) fn X509_NAME_dup(name: *const X509_NAME) -> *mut X509_NAME;
    pub(crate) fn X509_NAME_free(name: *mut X509_NAME);
    pub(crate) fn X509_NAME_cmp(one: *const X509_NAME, other: *const X509_NAME) -> c_int;
    pub(crate) fn d2i_X509_NAME(
        to: *mut *mut X509_NAME,
        from: *mut *const c_uchar,
        length: c_long,
    ) -> *mut X509_NAME;
    pub(crate) fn i2d_X509_NAME(name: *const X509_NAME, to: *mut *mut c_uchar) -> c_int;
    pub(crate) fn d2i_X509_bio(bio: *mut BIO, to: *mut *mut X509) -> *mut X509;
    pub(crate) fn PEM_read_bio_X509(
        bio: *mut BIO,
        to: *mut *mut X509,
        password: PasswordCallback,
        argument: *mut c_void,
    ) -> *mut X509;
    pub(crate) fn PEM_read_bio_X509_AUX(
        bio: *mut BIO,
        to: *mut *mut X509,
        password: PasswordCallback,
        argument: *mut c_void,
    ) -> *mut X509;

    pub(crate) fn CTLOG_STORE_new() -> *mut CTLOG_STORE;
    pub(crate) fn CTLOG_STORE_free(logs: *mut CTLOG_STORE);
    pub(crate) fn CTLOG_STORE_load_file(logs: *mut CTLOG_STORE, file: *const c_char) -> c_int;
    pub(crate) fn CTLOG_STORE_load_default_file(logs: *mut CTLOG_STORE) -> c_int;
    pub(crate) fn X509_STORE_new() -> *mut X509_STORE;
    pub(crate) fn X509_STORE_free(store: *mut X509_STORE);
    pub(crate) fn X509_STORE_up_ref(store: *mut X509_STORE) -> c_int;
    pub(crate) fn X509_STORE_load_locations(
        store: *mut X509_STORE,
        file: *const c_char,
        folder: *const c_char,
    ) -> c_int;
    pub(crate) fn X509_STORE_add_cert(store: *mut X509_STORE, certificate: *mut X509) -> c_int;
    pub(crate) fn X509_STORE_load_file(store: *mut X509_STORE, file: *const c_char) -> c_int;
    pub(crate) fn X509_STORE_load_path(store: *mut X509_STORE, folder: *const c_char) -> c_int;
    pub(crate) fn X509_STORE_load_store(store: *mut X509_STORE, uri: *const c_char) -> c_int;
    pub(crate) fn X509_STORE_set_default_paths(store: *mut X509_STORE) -> c_int;

    pub(crate) fn X509_STORE_add_lookup(
        store: *mut X509_STORE,
        method: *mut X509_LOOKUP_METHOD,
    ) -> *mut X509_LOOKUP;
    pub(crate) fn X509_LOOKUP_file() -> *mut X509_LOOKUP_METHOD;
    pub(crate) fn X509_LOOKUP_hash_dir() -> *mut X509_LOOKUP_METHOD;
    pub(crate) fn X509_LOOKUP_store() -> *mut X509_LOOKUP_METHOD;
    pub(crate) fn X509_LOOKUP_ctrl(
        lookup: *mut X509_LOOKUP,
        command: c_int,
        text: *const c_char,
        number: c_long,
        result: *mut *mut c_char,
    ) -> c_int;

    pub(crate) fn X509_STORE_CTX_new() -> *mut X509_STORE_CTX;
    pub(crate) fn X509_STORE_CTX_free(context: *mut X509_STORE_CTX);
    pub(crate) fn X509_STORE_CTX_init(
        context: *mut X509_STORE_CTX,
        store: *mut X509_STORE,
        leaf: *mut X509,
        chain: *mut Stack,
    ) -> c_int;
    pub(crate) fn X509_STORE_CTX_set_ex_data(
        context: *mut X509_STORE_CTX,
        index: c_int,
        data: *mut c_void,
    ) -> c_int;
    pub(crate) fn X509_STORE_CTX_set_default(
        context: *mut X509_STORE_CTX,
        name: *const c_char,
    ) -> c_int;
    pub(crate) fn X509_STORE_CTX_set_verify_cb(
        context: *mut X509_STORE_CTX,
        callback: VerifyCallback,
    );
    pub(crate) fn X509_STORE_CTX_get0_param(
        context: *const X509_STORE_CTX,
    ) -> *mut X509_VERIFY_PARAM;
    pub(crate) fn X509_STORE_CTX_get_error(context: *const X509_STORE_CTX) -> c_int;
    pub(crate) fn X509_STORE_CTX_get1_chain(context: *const X509_STORE_CTX) -> *mut Stack;
    pub(crate) fn X509_verify_cert(context: *mut X509_STORE_CTX) -> c_int;
    pub(crate) fn X509_verify_cert_error_string(result: c_long) -> *const c_char;

    pub(crate) fn X509_VERIFY_PARAM_new() -> *mut X509_VERIFY_PARAM;
    pub(crate) fn X509_VERIFY_PARAM_free(param: *mut X509_VERIFY_PARAM);
    pub(crate) fn X509_VERIFY_PARAM_inherit(
        to: *mut X509_VERIFY_PARAM,
        from: *const X509_VERIFY_PARAM,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_set1(
        to: *mut X509_VERIFY_PARAM,
        from: *const X509_VERIFY_PARAM,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_set_depth(param: *mut X509_VERIFY_PARAM, depth: c_int);
    pub(crate) fn X509_VERIFY_PARAM_get_depth(param: *const X509_VERIFY_PARAM) -> c_int;
    pub(crate) fn X509_verify(certificate: *mut X509, key: *mut EVP_PKEY) -> c_int;
    pub(crate) fn X509_get_X509_PUBKEY(certificate: *const X509) -> *mut c_void;
    pub(crate) fn i2d_X509_PUBKEY(key: *const c_void, to: *mut *mut c_uchar) -> c_int;
    pub(crate) fn X509_check_host(
        certificate: *mut X509,
        name: *const c_char,
        length: usize,
        flags: core::ffi::c_uint,
        matched: *mut *mut c_char,
    ) -> c_int;
    pub(crate) fn X509_check_email(
        certificate: *mut X509,
        address: *const c_char,
        length: usize,
        flags: core::ffi::c_uint,
    ) -> c_int;
    pub(crate) fn X509_check_ip_asc(
        certificate: *mut X509,
        address: *const c_char,
        flags: core::ffi::c_uint,
    ) -> c_int;
    pub(crate) fn X509_STORE_CTX_set_error(context: *mut X509_STORE_CTX, error: c_int);
    pub(crate) fn X509_STORE_CTX_set_error_depth(context: *mut X509_STORE_CTX, depth: c_int);
    pub(crate) fn X509_STORE_CTX_set_current_cert(
        context: *mut X509_STORE_CTX,
        certificate: *mut X509,
    );
    pub(crate) fn X509_STORE_CTX_get_verify_cb(context: *const X509_STORE_CTX) -> VerifyCallback;
    pub(crate) fn X509_STORE_CTX_get0_chain(context: *const X509_STORE_CTX) -> *mut Stack;
    pub(crate) fn X509_STORE_CTX_set0_trusted_stack(
        context: *mut X509_STORE_CTX,
        trusted: *mut Stack,
    );
    pub(crate) fn X509_STORE_CTX_set0_verified_chain(
        context: *mut X509_STORE_CTX,
        chain: *mut Stack,
    );
    pub(crate) fn X509_VERIFY_PARAM_get_hostflags(
        param: *const X509_VERIFY_PARAM,
    ) -> core::ffi::c_uint;
    pub(crate) fn X509_VERIFY_PARAM_get0_host(
        param: *mut X509_VERIFY_PARAM,
        index: c_int,
    ) -> *mut c_char;
    pub(crate) fn X509_VERIFY_PARAM_get0_email(param: *mut X509_VERIFY_PARAM) -> *mut c_char;
    pub(crate) fn X509_VERIFY_PARAM_get1_ip_asc(param: *mut X509_VERIFY_PARAM) -> *mut c_char;
    pub(crate) fn X509_VERIFY_PARAM_set1_ip_asc(
        param: *mut X509_VERIFY_PARAM,
        address: *const c_char,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_set_flags(
        param: *mut X509_VERIFY_PARAM,
        flags: core::ffi::c_ulong,
    ) -> c_int;
    pub(crate) fn X509_chain_check_suiteb(
        depth: *mut c_int,
        leaf: *mut X509,
        chain: *mut Stack,
        flags: core::ffi::c_ulong,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_get_auth_level(param: *const X509_VERIFY_PARAM) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_set_auth_level(param: *mut X509_VERIFY_PARAM, level: c_int);
    pub(crate) fn X509_VERIFY_PARAM_set1_host(
        param: *mut X509_VERIFY_PARAM,
        name: *const c_char,
        length: usize,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_add1_host(
        param: *mut X509_VERIFY_PARAM,
        name: *const c_char,
        length: usize,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_set_hostflags(
        param: *mut X509_VERIFY_PARAM,
        flags: core::ffi::c_uint,
    );
    pub(crate) fn X509_VERIFY_PARAM_move_peername(
        to: *mut X509_VERIFY_PARAM,
        from: *mut X509_VERIFY_PARAM,
    );
    pub(crate) fn X509_VERIFY_PARAM_get0_peername(param: *const X509_VERIFY_PARAM)
    -> *const c_char;
    pub(crate) fn X509_VERIFY_PARAM_set_purpose(
        param: *mut X509_VERIFY_PARAM,
        purpose: c_int,
    ) -> c_int;
    pub(crate) fn X509_VERIFY_PARAM_set_trust(param: *mut X509_VERIFY_PARAM, trust: c_int)
    -> c_int;
}
