//! Encodings that functions of libcrypto write.

use core::ffi::{c_int, c_uchar};
use core::ptr;

/// The bytes that an `i2d` function writes: it is called for the length, and then with a buffer.
pub(crate) fn encoded(mut write: impl FnMut(*mut *mut c_uchar) -> c_int) -> Option<Vec<u8>> {
    let length = usize::try_from(write(ptr::null_mut())).ok().filter(|length| *length > 0)?;
    let mut bytes = vec![0; length];
    let mut to = bytes.as_mut_ptr();
    let written = write(&raw mut to);
    (usize::try_from(written) == Ok(length)).then_some(bytes)
}
