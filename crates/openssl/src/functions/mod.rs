//! The exported functions, by subject. A function takes its objects from pointers, and calls their
//! methods; those of this folder have no state.

pub(crate) mod bio;
mod chain_building;
pub(crate) mod cipher;
pub(crate) mod conf;
pub(crate) mod conf_file;
pub(crate) mod context;
pub(crate) mod context_callbacks;
pub(crate) mod context_credentials;
pub(crate) mod context_ctrl;
pub(crate) mod context_sessions;
pub(crate) mod context_trust;
pub(crate) mod dane;
mod early_data;
pub(crate) mod hello;
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod names;
pub(crate) mod padding;
mod properties;
pub(crate) mod refused;
pub(crate) mod security;
pub(crate) mod session;
pub(crate) mod session_pem;
pub(crate) mod session_print;
pub(crate) mod ssl;
pub(crate) mod ssl_callbacks;
pub(crate) mod ssl_credentials;
pub(crate) mod ssl_ctrl;
pub(crate) mod ssl_info;
pub(crate) mod ssl_io;
pub(crate) mod ssl_peer;
pub(crate) mod ssl_settings;
pub(crate) mod texts;

use core::ffi::{CStr, c_char, c_int, c_uchar};

/// A text of a program. `None` for NULL.
///
/// # Safety
/// The pointer is NULL, or to a text that ends with a NUL and exists during the call.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: as this function's contract.
    Some(unsafe { CStr::from_ptr(pointer) })
}

/// An argument that must not be NULL. If it is, an error is in the queue.
pub(crate) fn given<T>(argument: Option<T>) -> Option<T> {
    if argument.is_none() {
        crate::errors::push_null();
    }
    argument
}

/// Bytes of a program. Empty for NULL and for a negative length.
///
/// # Safety
/// The pointer is NULL, or to as many bytes, which exist during the call.
pub(crate) unsafe fn bytes<'a>(pointer: *const c_uchar, length: impl TryInto<usize>) -> &'a [u8] {
    match length.try_into() {
        // SAFETY: as this function's contract.
        Ok(length) if !pointer.is_null() => unsafe { core::slice::from_raw_parts(pointer, length) },
        _ => &[],
    }
}

/// Memory of a program to write to. Empty for NULL and for a negative length.
///
/// # Safety
/// The pointer is NULL, or to as many bytes, which nothing else uses during the call. Their content
/// may be uninitialized for the program, but is memory that may be read.
pub(crate) unsafe fn room<'a>(pointer: *mut c_uchar, length: impl TryInto<usize>) -> &'a mut [u8] {
    match length.try_into() {
        // SAFETY: as this function's contract.
        Ok(length) if !pointer.is_null() => unsafe {
            core::slice::from_raw_parts_mut(pointer, length)
        },
        _ => &mut [],
    }
}

/// Writes a value for the program, unless the pointer is NULL.
///
/// # Safety
/// The pointer is NULL, or to a variable of its type.
pub(crate) unsafe fn store<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: as this function's contract.
        unsafe { to.write(value) };
    }
}

pub(crate) const OK: c_int = 1;
pub(crate) const FAIL: c_int = 0;
