//! The ClientHello, inside of the callback for it.

use core::ffi::{c_int, c_uchar, c_uint};
use core::ptr;

use super::{FAIL, OK, store};
use crate::connection::Ssl;
use crate::connection::hello::Parts;
use crate::entry::functions;
use crate::sys::crypto::CRYPTO_malloc;

functions! {
    fn SSL_client_hello_get0_legacy_version(ssl: &Ssl;) -> c_uint = 0 => {
        with_parts(ssl, |parts| parts.version.into()).unwrap_or(0)
    }
    fn SSL_client_hello_get0_random(ssl: &Ssl; out: *mut *const c_uchar) -> usize = 0 => {
        // SAFETY: the caller's duty, here and below.
        unsafe { lend(ssl, out, |parts| parts.random) }
    }
    fn SSL_client_hello_get0_session_id(ssl: &Ssl; out: *mut *const c_uchar) -> usize = 0 => {
        // SAFETY: as above.
        unsafe { lend(ssl, out, |parts| parts.session_id) }
    }
    fn SSL_client_hello_get0_ciphers(ssl: &Ssl; out: *mut *const c_uchar) -> usize = 0 => {
        // SAFETY: as above.
        unsafe { lend(ssl, out, |parts| parts.suites) }
    }
    fn SSL_client_hello_get0_compression_methods(ssl: &Ssl; out: *mut *const c_uchar) -> usize = 0 => {
        // SAFETY: as above.
        unsafe { lend(ssl, out, |parts| parts.compression) }
    }
    fn SSL_client_hello_get0_ext(ssl: &Ssl; kind: c_uint, out: *mut *const c_uchar, length: *mut usize)
        -> c_int = FAIL => {
        let found = with_parts(ssl, |parts| {
            let extension = parts.extensions.iter().find(|(code, _)| c_uint::from(*code) == kind);
            extension.map(|(_, body)| (body.as_ptr(), body.len()))
        });
        let Some((start, count)) = found.flatten() else { return FAIL };
        // SAFETY: as above.
        unsafe {
            store(out, start);
            store(length, count);
        }
        OK
    }
    fn SSL_client_hello_get1_extensions_present(ssl: &Ssl; out: *mut *mut c_int, count: *mut usize)
        -> c_int = FAIL => {
        let codes = with_parts(ssl, |parts| {
            parts.extensions.iter().map(|(code, _)| c_int::from(*code)).collect::<Vec<_>>()
        });
        let Some(codes) = codes else { return FAIL };
        // SAFETY: as above. The program frees the memory with `OPENSSL_free`.
        unsafe {
            store(count, codes.len());
            store(out, ptr::null_mut());
            if codes.is_empty() {
                return OK;
            }
            let memory: *mut c_int =
                CRYPTO_malloc(size_of_val(codes.as_slice()), ptr::null(), 0).cast();
            if memory.is_null() {
                return FAIL;
            }
            ptr::copy_nonoverlapping(codes.as_ptr(), memory, codes.len());
            store(out, memory);
        }
        OK
    }
}

fn with_parts<T>(ssl: &Ssl, body: impl FnOnce(&Parts<'_>) -> T) -> Option<T> {
    let hello = ssl.hello.borrow();
    hello.as_ref()?.parts().map(|parts| body(&parts))
}

/// Returns a part of the message, which exists as long as the callback runs.
///
/// # Safety
/// The pointer is NULL or to a pointer.
unsafe fn lend(
    ssl: &Ssl,
    out: *mut *const c_uchar,
    part: impl for<'a> FnOnce(&Parts<'a>) -> &'a [u8],
) -> usize {
    let found = with_parts(ssl, |parts| {
        let bytes = part(parts);
        (bytes.as_ptr(), bytes.len())
    });
    let (start, length) = found.unwrap_or((ptr::null(), 0));
    // SAFETY: as this function's contract.
    unsafe { store(out, start) };
    length
}
