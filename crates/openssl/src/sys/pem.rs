//! PEM: objects that functions of the caller encode and decode. Files are those of the C library.

use core::ffi::{c_char, c_int, c_void};

use super::bio::BIO;
use super::x509::PasswordCallback;

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn PEM_ASN1_write_bio(
        encode: *const c_void,
        name: *const c_char,
        bio: *mut BIO,
        object: *const c_void,
        cipher: *const c_void,
        key: *const u8,
        length: c_int,
        callback: PasswordCallback,
        argument: *mut c_void,
    ) -> c_int;
    pub(crate) fn PEM_ASN1_write(
        encode: *const c_void,
        name: *const c_char,
        file: *mut c_void,
        object: *const c_void,
        cipher: *const c_void,
        key: *const u8,
        length: c_int,
        callback: PasswordCallback,
        argument: *mut c_void,
    ) -> c_int;
    pub(crate) fn PEM_ASN1_read_bio(
        decode: *const c_void,
        name: *const c_char,
        bio: *mut BIO,
        object: *mut *mut c_void,
        callback: PasswordCallback,
        argument: *mut c_void,
    ) -> *mut c_void;
    pub(crate) fn PEM_ASN1_read(
        decode: *const c_void,
        name: *const c_char,
        file: *mut c_void,
        object: *mut *mut c_void,
        callback: PasswordCallback,
        argument: *mut c_void,
    ) -> *mut c_void;
}
