//! EVP: private and public keys, and signatures.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_void};

use super::bio::BIO;

super::opaque! {
    /// A private or public key.
    EVP_PKEY,
    /// A computation of a digest or a signature.
    EVP_MD_CTX,
    /// A digest algorithm.
    EVP_MD,
    /// An operation with a key.
    EVP_PKEY_CTX,
    /// The content of a PKCS #8 structure.
    PKCS8_PRIV_KEY_INFO,
}

/// A program's function that gives the passphrase of a key.
pub(crate) type PasswordCallback =
    Option<unsafe extern "C" fn(*mut c_char, c_int, c_int, *mut c_void) -> c_int>;

pub(crate) const RSA_PKCS1_PSS_PADDING: c_int = 6;
pub(crate) const RSA_PSS_SALTLEN_DIGEST: c_int = -1;

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn EVP_PKEY_new() -> *mut EVP_PKEY;
    pub(crate) fn EVP_PKEY_set1_RSA(key: *mut EVP_PKEY, rsa: *mut c_void) -> c_int;
    pub(crate) fn EVP_PKEY_up_ref(key: *mut EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_free(key: *mut EVP_PKEY);
    pub(crate) fn EVP_PKEY_get_base_id(key: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_get_security_bits(key: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_get_group_name(
        key: *const EVP_PKEY,
        name: *mut c_char,
        room: usize,
        length: *mut usize,
    ) -> c_int;
    pub(crate) fn OBJ_txt2nid(name: *const c_char) -> c_int;
    pub(crate) fn EVP_PKEY2PKCS8(key: *const EVP_PKEY) -> *mut PKCS8_PRIV_KEY_INFO;
    pub(crate) fn i2d_PKCS8_PRIV_KEY_INFO(
        key: *const PKCS8_PRIV_KEY_INFO,
        to: *mut *mut c_uchar,
    ) -> c_int;
    pub(crate) fn PKCS8_PRIV_KEY_INFO_free(key: *mut PKCS8_PRIV_KEY_INFO);
    pub(crate) fn PEM_read_bio_PrivateKey(
        bio: *mut BIO,
        to: *mut *mut EVP_PKEY,
        password: PasswordCallback,
        argument: *mut c_void,
    ) -> *mut EVP_PKEY;
    pub(crate) fn PEM_read_bio_Parameters(bio: *mut BIO, to: *mut *mut EVP_PKEY) -> *mut EVP_PKEY;
    pub(crate) fn d2i_PrivateKey_bio(bio: *mut BIO, to: *mut *mut EVP_PKEY) -> *mut EVP_PKEY;
    pub(crate) fn d2i_PrivateKey(
        kind: c_int,
        to: *mut *mut EVP_PKEY,
        from: *mut *const c_uchar,
        length: c_long,
    ) -> *mut EVP_PKEY;

    pub(crate) fn EC_KEY_get0_group(key: *const c_void) -> *const c_void;
    pub(crate) fn EC_GROUP_get_curve_name(group: *const c_void) -> c_int;
    pub(crate) fn EVP_MD_CTX_new() -> *mut EVP_MD_CTX;
    pub(crate) fn EVP_MD_CTX_free(context: *mut EVP_MD_CTX);
    pub(crate) fn EVP_MD_fetch(
        library: *mut c_void,
        name: *const c_char,
        query: *const c_char,
    ) -> *mut EVP_MD;
    pub(crate) fn EVP_MD_get0_provider(digest: *const EVP_MD) -> *const c_void;
    pub(crate) fn OSSL_PROVIDER_get0_name(provider: *const c_void) -> *const c_char;
    pub(crate) fn EVP_MD_up_ref(digest: *mut EVP_MD) -> c_int;
    pub(crate) fn EVP_MD_free(digest: *mut EVP_MD);
    pub(crate) fn EVP_MD_get_size(digest: *const EVP_MD) -> c_int;
    pub(crate) fn EVP_Digest(
        data: *const c_void,
        length: usize,
        to: *mut c_uchar,
        written: *mut c_uint,
        digest: *const EVP_MD,
        engine: *mut c_void,
    ) -> c_int;
    pub(crate) fn d2i_PUBKEY(
        to: *mut *mut EVP_PKEY,
        from: *mut *const c_uchar,
        length: c_long,
    ) -> *mut EVP_PKEY;
    pub(crate) fn EVP_get_digestbyname(name: *const c_char) -> *const EVP_MD;
    pub(crate) fn EVP_DigestSignInit(
        context: *mut EVP_MD_CTX,
        key_context: *mut *mut EVP_PKEY_CTX,
        digest: *const EVP_MD,
        engine: *mut c_void,
        key: *mut EVP_PKEY,
    ) -> c_int;
    pub(crate) fn EVP_DigestSign(
        context: *mut EVP_MD_CTX,
        signature: *mut c_uchar,
        length: *mut usize,
        data: *const c_uchar,
        data_length: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_CTX_set_rsa_padding(context: *mut EVP_PKEY_CTX, padding: c_int)
    -> c_int;
    pub(crate) fn EVP_PKEY_CTX_set_rsa_pss_saltlen(
        context: *mut EVP_PKEY_CTX,
        length: c_int,
    ) -> c_int;
}
