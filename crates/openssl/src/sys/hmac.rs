//! Ciphers and MACs of a program's ticket keys.

use core::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

super::opaque! {
    /// An encryption or decryption.
    EVP_CIPHER_CTX,
    /// An HMAC by the older interface.
    HMAC_CTX,
    /// A MAC algorithm.
    EVP_MAC,
    /// A MAC by the newer interface.
    EVP_MAC_CTX,
}

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn EVP_CIPHER_CTX_new() -> *mut EVP_CIPHER_CTX;
    pub(crate) fn EVP_CIPHER_CTX_free(context: *mut EVP_CIPHER_CTX);
    pub(crate) fn EVP_CIPHER_CTX_get_iv_length(context: *const EVP_CIPHER_CTX) -> c_int;
    pub(crate) fn EVP_CIPHER_CTX_get_block_size(context: *const EVP_CIPHER_CTX) -> c_int;
    pub(crate) fn EVP_CipherUpdate(
        context: *mut EVP_CIPHER_CTX,
        to: *mut c_uchar,
        written: *mut c_int,
        from: *const c_uchar,
        length: c_int,
    ) -> c_int;
    pub(crate) fn EVP_CipherFinal_ex(
        context: *mut EVP_CIPHER_CTX,
        to: *mut c_uchar,
        written: *mut c_int,
    ) -> c_int;
    pub(crate) fn HMAC_CTX_new() -> *mut HMAC_CTX;
    pub(crate) fn HMAC_CTX_free(context: *mut HMAC_CTX);
    pub(crate) fn HMAC_size(context: *const HMAC_CTX) -> usize;
    pub(crate) fn HMAC_Update(context: *mut HMAC_CTX, data: *const c_uchar, length: usize)
    -> c_int;
    pub(crate) fn HMAC_Final(
        context: *mut HMAC_CTX,
        to: *mut c_uchar,
        length: *mut c_uint,
    ) -> c_int;
    pub(crate) fn EVP_MAC_fetch(
        library: *mut c_void,
        name: *const c_char,
        query: *const c_char,
    ) -> *mut EVP_MAC;
    pub(crate) fn EVP_MAC_free(algorithm: *mut EVP_MAC);
    pub(crate) fn EVP_MAC_CTX_new(algorithm: *mut EVP_MAC) -> *mut EVP_MAC_CTX;
    pub(crate) fn EVP_MAC_CTX_free(context: *mut EVP_MAC_CTX);
    pub(crate) fn EVP_MAC_CTX_get_mac_size(context: *mut EVP_MAC_CTX) -> usize;
    pub(crate) fn EVP_MAC_update(
        context: *mut EVP_MAC_CTX,
        data: *const c_uchar,
        length: usize,
    ) -> c_int;
    pub(crate) fn EVP_MAC_final(
        context: *mut EVP_MAC_CTX,
        to: *mut c_uchar,
        written: *mut usize,
        room: usize,
    ) -> c_int;
    pub(crate) fn CRYPTO_memcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int;
}
