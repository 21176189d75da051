//! ERR: the queue of errors of a thread.

use core::ffi::{c_char, c_int, c_ulong};

/// The number of libssl among the libraries.
pub(crate) const LIB_SSL: c_int = 20;
/// The number of the system among the libraries.
pub(crate) const LIB_SYS: c_ulong = 2;

/// A reason and its text.
#[repr(C)]
pub(crate) struct ErrStringData {
    pub(crate) error: c_ulong,
    pub(crate) string: *const c_char,
}

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn ERR_new();
    pub(crate) fn ERR_set_debug(file: *const c_char, line: c_int, function: *const c_char);
    pub(crate) fn ERR_set_error(library: c_int, reason: c_int, format: *const c_char, ...);
    pub(crate) fn ERR_clear_error();
    pub(crate) fn ERR_peek_error() -> c_ulong;
    pub(crate) fn ERR_peek_last_error() -> c_ulong;
    pub(crate) fn ERR_set_mark() -> c_int;
    pub(crate) fn ERR_pop_to_mark() -> c_int;
    pub(crate) fn ERR_clear_last_mark() -> c_int;
    pub(crate) fn ERR_load_strings(library: c_int, strings: *mut ErrStringData) -> c_int;
}
