//! Results of functions of the library.

use std::error::Error;
use std::ffi::CStr;

use lab_scenario::Result;

use crate::ffi;

/// Converts a status.
pub(crate) fn done(status: ffi::Status) -> Result<()> {
    if status == ffi::OK { Ok(()) } else { Err(failed(status)) }
}

/// The error of a status.
pub(crate) fn failed(status: ffi::Status) -> Box<dyn Error + Send + Sync> {
    // SAFETY: the function returns a constant C string for every number.
    let text = unsafe { CStr::from_ptr(ffi::tercel_status_text(status)) };
    text.to_string_lossy().into_owned().into()
}

/// The bytes as a slice.
///
/// # Safety
/// The handle to which the bytes belong does not change during the lifetime, which the caller
/// chooses.
pub(crate) unsafe fn slice<'a>(bytes: ffi::Bytes) -> &'a [u8] {
    if bytes.data.is_null() {
        return &[];
    }
    // SAFETY: the library returns a pointer to this many bytes, and the rest is this function's
    // contract.
    unsafe { std::slice::from_raw_parts(bytes.data, bytes.len) }
}
