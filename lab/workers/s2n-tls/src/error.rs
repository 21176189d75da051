//! Errors of s2n-tls.

use std::error::Error;
use std::ffi::{CStr, c_int};
use std::ptr;

use lab_scenario::Result;
use s2n_tls_sys as ffi;

/// Converts the result of a call.
pub(crate) fn done(result: c_int) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(failed()) }
}

/// Whether the call that just failed must be repeated with more data.
pub(crate) fn is_blocked() -> bool {
    // SAFETY: it is the thread's last error.
    unsafe {
        let kind = ffi::s2n_error_get_type(*ffi::s2n_errno_location());
        u32::try_from(kind) == Ok(ffi::s2n_error_type::BLOCKED)
    }
}

/// The error of this thread's last call.
pub(crate) fn failed() -> Box<dyn Error + Send + Sync> {
    // SAFETY: it is the thread's last error, described by static C strings.
    let text = unsafe {
        let text = ffi::s2n_strerror(*ffi::s2n_errno_location(), ptr::null());
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "s2n-tls does not say why".to_owned()).into()
}
