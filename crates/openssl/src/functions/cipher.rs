//! SSL_CIPHER.

use core::ffi::{c_char, c_int, c_uchar, c_void};
use core::ptr;

use super::{room, store};
use crate::ciphers::suite::{self, Cipher};
use crate::entry::functions;
use tercel::wire::CipherSuite;

/// The cipher of a pointer. NULL stands for none.
///
/// # Safety
/// The pointer is NULL, or to a static object of this library.
unsafe fn cipher(pointer: *const Cipher) -> Option<&'static Cipher> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: as this function's contract.
    Some(unsafe { &*pointer })
}

/// Defines functions of a cipher: the result for NULL, and for a cipher.
macro_rules! getters {
    ($(fn $name:ident -> $type:ty = $none:expr => |$cipher:ident| $value:expr;)*) => {
        functions! {
            $(
                fn $name(; pointer: *const Cipher) -> $type = $none => {
                    // SAFETY: the caller's duty.
                    match unsafe { cipher(pointer) } {
                        Some($cipher) => $value,
                        None => $none,
                    }
                }
            )*
        }
    };
}

getters! {
    fn SSL_CIPHER_get_name -> *const c_char = c"(NONE)".as_ptr() => |cipher| cipher.name.as_ptr();
    fn SSL_CIPHER_standard_name -> *const c_char = c"(NONE)".as_ptr() =>
        |cipher| cipher.standard_name.as_ptr();
    fn SSL_CIPHER_get_version -> *const c_char = c"(NONE)".as_ptr() =>
        |cipher| cipher.version().as_ptr();
    fn SSL_CIPHER_get_id -> u32 = 0 => |cipher| cipher.id();
    fn SSL_CIPHER_get_protocol_id -> u16 = 0 => |cipher| cipher.code.0;
    fn SSL_CIPHER_get_cipher_nid -> c_int = 0 => |cipher| cipher.cipher_nid();
    // AEAD suites have no digest of their own.
    fn SSL_CIPHER_get_digest_nid -> c_int = 0 => |_cipher| 0;
    fn SSL_CIPHER_get_kx_nid -> c_int = 0 => |cipher| cipher.key_exchange_nid();
    fn SSL_CIPHER_get_auth_nid -> c_int = 0 => |cipher| cipher.authentication_nid();
    fn SSL_CIPHER_is_aead -> c_int = 0 => |_cipher| 1;
}

functions! {
    fn SSL_CIPHER_get_bits(; pointer: *const Cipher, algorithm: *mut c_int) -> c_int = 0 => {
        // SAFETY: the caller's duty.
        let bits = unsafe { cipher(pointer) }.map_or(0, |cipher| cipher.bits);
        // SAFETY: the caller's duty.
        unsafe { store(algorithm, bits) };
        bits
    }
    fn SSL_CIPHER_description(; pointer: *const Cipher, to: *mut c_char, length: c_int)
        -> *mut c_char = ptr::null_mut() => {
        // SAFETY: the caller's duty.
        let Some(cipher) = (unsafe { cipher(pointer) }) else { return ptr::null_mut() };
        let mut text = cipher.description().into_bytes();
        text.push(0);
        let (to, length) = if to.is_null() {
            // SAFETY: the program frees the memory with `OPENSSL_free`.
            let memory = unsafe { crate::sys::crypto::CRYPTO_malloc(text.len(), ptr::null(), 0) };
            (memory.cast(), text.len())
        } else {
            (to, usize::try_from(length).unwrap_or(0))
        };
        // SAFETY: the caller's duty, or memory of this length.
        let room = unsafe { room(to.cast(), length) };
        match room.get_mut(..text.len()) {
            Some(room) => {
                room.copy_from_slice(&text);
                to
            }
            None => ptr::null_mut(),
        }
    }
    fn OPENSSL_cipher_name(; standard: *const c_char) -> *const c_char = c"(NONE)".as_ptr() => {
        // SAFETY: the caller's duty.
        let standard = unsafe { super::text(standard) };
        let cipher = suite::ALL.iter().find(|cipher| Some(cipher.standard_name) == standard);
        cipher.map_or(c"(NONE)".as_ptr(), |cipher| cipher.name.as_ptr())
    }
    /// Finds the suite with the two bytes of its code point.
    fn SSL_CIPHER_find(; _ssl: *mut c_void, bytes: *const c_uchar) -> *const Cipher = ptr::null() => {
        // SAFETY: the caller's duty.
        let bytes = unsafe { super::bytes(bytes, 2_usize) };
        let code = bytes.first_chunk().map(|code| CipherSuite(u16::from_be_bytes(*code)));
        code.and_then(suite::find).map_or(ptr::null(), ptr::from_ref)
    }
    fn SSL_CIPHER_get_handshake_digest(; pointer: *const Cipher) -> *const c_void = ptr::null() => {
        // SAFETY: the caller's duty.
        let Some(cipher) = (unsafe { cipher(pointer) }) else { return ptr::null() };
        let name = if cipher.is_sha384 { c"SHA384" } else { c"SHA256" };
        // SAFETY: the name ends with a NUL.
        unsafe { crate::sys::evp::EVP_get_digestbyname(name.as_ptr()).cast() }
    }
}
