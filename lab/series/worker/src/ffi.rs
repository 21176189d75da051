//! Declarations of OpenSSL's headers.
//!
//! The declarations are written by hand because no bindings support all releases from 1.1.1 to 4.0.
//! These functions have the same type in all of them; macros are expanded.

// The names are those of the headers.
#![allow(non_camel_case_types, non_snake_case, clippy::upper_case_acronyms)]

use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong, c_void};

macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(#[repr(C)]
        pub(crate) struct $name {
            _hidden: [u8; 0],
        })*
    };
}

opaque!(
    BIO,
    BIO_METHOD,
    EVP_CIPHER,
    EVP_CIPHER_CTX,
    EVP_MD,
    EVP_MD_CTX,
    EVP_PKEY,
    EVP_PKEY_CTX,
    OPENSSL_INIT_SETTINGS,
    SSL,
    SSL_CIPHER,
    SSL_CTX,
    SSL_METHOD,
    SSL_SESSION,
);

// <openssl/bio.h>
pub(crate) const BIO_TYPE_NONE: c_int = 0;
pub(crate) const BIO_CTRL_FLUSH: c_int = 11;
const BIO_FLAGS_READ: c_int = 1;
const BIO_FLAGS_RWS: c_int = 7;
const BIO_FLAGS_SHOULD_RETRY: c_int = 8;

type BioRead = unsafe extern "C" fn(*mut BIO, *mut c_char, c_int) -> c_int;
type BioWrite = unsafe extern "C" fn(*mut BIO, *const c_char, c_int) -> c_int;
type BioControl = unsafe extern "C" fn(*mut BIO, c_int, c_long, *mut c_void) -> c_long;

pub(crate) unsafe fn BIO_clear_retry_flags(bio: *mut BIO) {
    // SAFETY: required of the caller.
    unsafe { BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY) };
}

pub(crate) unsafe fn BIO_set_retry_read(bio: *mut BIO) {
    // SAFETY: required of the caller.
    unsafe { BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY) };
}

// <openssl/crypto.h>
pub(crate) const OPENSSL_VERSION: c_int = 0;
pub(crate) const OPENSSL_CFLAGS: c_int = 1;
pub(crate) const OPENSSL_INIT_LOAD_CONFIG: u64 = 0x40;

// <openssl/conf.h>
pub(crate) const CONF_MFLAGS_DEFAULT_SECTION: c_ulong = 0x20;

// <openssl/evp.h>
pub(crate) const EVP_CTRL_AEAD_GET_TAG: c_int = 0x10;
#[cfg(openssl_1_1_1)]
pub(crate) const EVP_PKEY_X25519: c_int = 1034;

// <openssl/ssl.h>
pub(crate) const SSL_FILETYPE_PEM: c_int = 1;
pub(crate) const SSL_VERIFY_PEER: c_int = 1;
pub(crate) const SSL_ERROR_WANT_READ: c_int = 2;
pub(crate) const SSL_SENT_SHUTDOWN: c_int = 1;
pub(crate) const SSL_RECEIVED_SHUTDOWN: c_int = 2;
pub(crate) const TLS1_2_VERSION: c_int = 0x303;
pub(crate) const TLS1_3_VERSION: c_int = 0x304;
pub(crate) const SSL_CTRL_SET_GROUPS_LIST: c_int = 92;
#[cfg(openssl_1_1_1)]
pub(crate) const SSL_CTRL_GET_PEER_TMP_KEY: c_int = 109;
pub(crate) const SSL_CTRL_SET_MIN_PROTO_VERSION: c_int = 123;
pub(crate) const SSL_CTRL_SET_MAX_PROTO_VERSION: c_int = 124;
#[cfg(not(openssl_1_1_1))]
pub(crate) const SSL_CTRL_GET_NEGOTIATED_GROUP: c_int = 134;

unsafe extern "C" {
    pub(crate) fn BIO_new(method: *const BIO_METHOD) -> *mut BIO;
    pub(crate) fn BIO_set_init(bio: *mut BIO, init: c_int);
    pub(crate) fn BIO_set_data(bio: *mut BIO, data: *mut c_void);
    pub(crate) fn BIO_get_data(bio: *mut BIO) -> *mut c_void;
    fn BIO_set_flags(bio: *mut BIO, flags: c_int);
    fn BIO_clear_flags(bio: *mut BIO, flags: c_int);
    pub(crate) fn BIO_meth_new(kind: c_int, name: *const c_char) -> *mut BIO_METHOD;
    pub(crate) fn BIO_meth_set_read(method: *mut BIO_METHOD, read: Option<BioRead>) -> c_int;
    pub(crate) fn BIO_meth_set_write(method: *mut BIO_METHOD, write: Option<BioWrite>) -> c_int;
    pub(crate) fn BIO_meth_set_ctrl(method: *mut BIO_METHOD, ctrl: Option<BioControl>) -> c_int;
    pub(crate) fn BIO_new_mem_buf(bytes: *const c_void, length: c_int) -> *mut BIO;
    pub(crate) fn BIO_free(bio: *mut BIO) -> c_int;

    pub(crate) fn ERR_get_error() -> c_ulong;
    pub(crate) fn ERR_error_string_n(error: c_ulong, text: *mut c_char, length: usize);
    pub(crate) fn OpenSSL_version(what: c_int) -> *const c_char;
    pub(crate) fn OPENSSL_INIT_new() -> *mut OPENSSL_INIT_SETTINGS;
    pub(crate) fn OPENSSL_INIT_free(settings: *mut OPENSSL_INIT_SETTINGS);
    pub(crate) fn OPENSSL_INIT_set_config_filename(
        settings: *mut OPENSSL_INIT_SETTINGS,
        name: *const c_char,
    ) -> c_int;
    pub(crate) fn OPENSSL_INIT_set_config_file_flags(
        settings: *mut OPENSSL_INIT_SETTINGS,
        flags: c_ulong,
    );
    pub(crate) fn OPENSSL_init_crypto(
        options: u64,
        settings: *const OPENSSL_INIT_SETTINGS,
    ) -> c_int;

    #[cfg(openssl_1_1_1)]
    pub(crate) fn EVP_aes_256_gcm() -> *const EVP_CIPHER;
    #[cfg(openssl_1_1_1)]
    pub(crate) fn EVP_sha256() -> *const EVP_MD;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_CIPHER_fetch(
        library: *mut c_void,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut EVP_CIPHER;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_MD_fetch(
        library: *mut c_void,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut EVP_MD;
    pub(crate) fn EVP_CIPHER_CTX_new() -> *mut EVP_CIPHER_CTX;
    pub(crate) fn EVP_CIPHER_CTX_free(context: *mut EVP_CIPHER_CTX);
    pub(crate) fn EVP_CIPHER_CTX_ctrl(
        context: *mut EVP_CIPHER_CTX,
        control: c_int,
        number: c_int,
        pointer: *mut c_void,
    ) -> c_int;
    pub(crate) fn EVP_EncryptInit_ex(
        context: *mut EVP_CIPHER_CTX,
        cipher: *const EVP_CIPHER,
        engine: *mut c_void,
        key: *const c_uchar,
        nonce: *const c_uchar,
    ) -> c_int;
    pub(crate) fn EVP_EncryptUpdate(
        context: *mut EVP_CIPHER_CTX,
        out: *mut c_uchar,
        written: *mut c_int,
        from: *const c_uchar,
        length: c_int,
    ) -> c_int;
    pub(crate) fn EVP_EncryptFinal_ex(
        context: *mut EVP_CIPHER_CTX,
        out: *mut c_uchar,
        written: *mut c_int,
    ) -> c_int;
    pub(crate) fn EVP_MD_CTX_new() -> *mut EVP_MD_CTX;
    pub(crate) fn EVP_MD_CTX_free(context: *mut EVP_MD_CTX);
    pub(crate) fn EVP_DigestInit_ex(
        context: *mut EVP_MD_CTX,
        digest: *const EVP_MD,
        engine: *mut c_void,
    ) -> c_int;
    pub(crate) fn EVP_DigestUpdate(
        context: *mut EVP_MD_CTX,
        from: *const c_void,
        length: usize,
    ) -> c_int;
    pub(crate) fn EVP_DigestFinal_ex(
        context: *mut EVP_MD_CTX,
        out: *mut c_uchar,
        length: *mut u32,
    ) -> c_int;

    pub(crate) fn PEM_read_bio_PrivateKey(
        bio: *mut BIO,
        key: *mut *mut EVP_PKEY,
        password: *mut c_void,
        argument: *mut c_void,
    ) -> *mut EVP_PKEY;
    pub(crate) fn EVP_PKEY_free(key: *mut EVP_PKEY);
    #[cfg(openssl_1_1_1)]
    pub(crate) fn EVP_PKEY_id(key: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_CTX_new(key: *mut EVP_PKEY, engine: *mut c_void) -> *mut EVP_PKEY_CTX;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_PKEY_CTX_new_from_name(
        library: *mut c_void,
        name: *const c_char,
        properties: *const c_char,
    ) -> *mut EVP_PKEY_CTX;
    pub(crate) fn EVP_PKEY_CTX_free(context: *mut EVP_PKEY_CTX);
    pub(crate) fn EVP_PKEY_CTX_ctrl_str(
        context: *mut EVP_PKEY_CTX,
        name: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_keygen_init(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_keygen(context: *mut EVP_PKEY_CTX, key: *mut *mut EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_sign_init(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_sign(
        context: *mut EVP_PKEY_CTX,
        signature: *mut c_uchar,
        length: *mut usize,
        digest: *const c_uchar,
        digest_length: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_verify_init(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_verify(
        context: *mut EVP_PKEY_CTX,
        signature: *const c_uchar,
        length: usize,
        digest: *const c_uchar,
        digest_length: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_derive_init(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_derive_set_peer(
        context: *mut EVP_PKEY_CTX,
        peer: *mut EVP_PKEY,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_derive(
        context: *mut EVP_PKEY_CTX,
        secret: *mut c_uchar,
        length: *mut usize,
    ) -> c_int;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_PKEY_encapsulate_init(
        context: *mut EVP_PKEY_CTX,
        parameters: *const c_void,
    ) -> c_int;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_PKEY_encapsulate(
        context: *mut EVP_PKEY_CTX,
        wrapped: *mut c_uchar,
        wrapped_length: *mut usize,
        secret: *mut c_uchar,
        secret_length: *mut usize,
    ) -> c_int;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_PKEY_decapsulate_init(
        context: *mut EVP_PKEY_CTX,
        parameters: *const c_void,
    ) -> c_int;
    #[cfg(not(openssl_1_1_1))]
    pub(crate) fn EVP_PKEY_decapsulate(
        context: *mut EVP_PKEY_CTX,
        secret: *mut c_uchar,
        secret_length: *mut usize,
        wrapped: *const c_uchar,
        wrapped_length: usize,
    ) -> c_int;

    pub(crate) fn TLS_method() -> *const SSL_METHOD;
    pub(crate) fn SSL_CTX_new(method: *const SSL_METHOD) -> *mut SSL_CTX;
    pub(crate) fn SSL_CTX_free(context: *mut SSL_CTX);
    pub(crate) fn SSL_CTX_ctrl(
        context: *mut SSL_CTX,
        control: c_int,
        number: c_long,
        pointer: *mut c_void,
    ) -> c_long;
    pub(crate) fn SSL_CTX_set_cipher_list(context: *mut SSL_CTX, suites: *const c_char) -> c_int;
    pub(crate) fn SSL_CTX_set_ciphersuites(context: *mut SSL_CTX, suites: *const c_char) -> c_int;
    pub(crate) fn SSL_CTX_use_certificate_chain_file(
        context: *mut SSL_CTX,
        file: *const c_char,
    ) -> c_int;
    pub(crate) fn SSL_CTX_use_PrivateKey_file(
        context: *mut SSL_CTX,
        file: *const c_char,
        kind: c_int,
    ) -> c_int;
    pub(crate) fn SSL_CTX_load_verify_locations(
        context: *mut SSL_CTX,
        file: *const c_char,
        folder: *const c_char,
    ) -> c_int;
    pub(crate) fn SSL_CTX_set_verify(context: *mut SSL_CTX, mode: c_int, callback: *const c_void);
    pub(crate) fn SSL_new(context: *mut SSL_CTX) -> *mut SSL;
    pub(crate) fn SSL_free(ssl: *mut SSL);
    pub(crate) fn SSL_set_bio(ssl: *mut SSL, read: *mut BIO, write: *mut BIO);
    pub(crate) fn SSL_set_connect_state(ssl: *mut SSL);
    pub(crate) fn SSL_set_accept_state(ssl: *mut SSL);
    pub(crate) fn SSL_do_handshake(ssl: *mut SSL) -> c_int;
    pub(crate) fn SSL_read(ssl: *mut SSL, into: *mut c_void, length: c_int) -> c_int;
    pub(crate) fn SSL_get_error(ssl: *const SSL, result: c_int) -> c_int;
    pub(crate) fn SSL_set_shutdown(ssl: *mut SSL, mode: c_int);
    pub(crate) fn SSL_ctrl(
        ssl: *mut SSL,
        control: c_int,
        number: c_long,
        pointer: *mut c_void,
    ) -> c_long;
    pub(crate) fn SSL_version(ssl: *const SSL) -> c_int;
    pub(crate) fn SSL_session_reused(ssl: *const SSL) -> c_int;
    pub(crate) fn SSL_get_current_cipher(ssl: *const SSL) -> *const SSL_CIPHER;
    pub(crate) fn SSL_CIPHER_get_name(suite: *const SSL_CIPHER) -> *const c_char;
    pub(crate) fn SSL_get1_session(ssl: *mut SSL) -> *mut SSL_SESSION;
    pub(crate) fn SSL_set_session(ssl: *mut SSL, session: *mut SSL_SESSION) -> c_int;
    pub(crate) fn SSL_SESSION_free(session: *mut SSL_SESSION);
}
