//! The transport of a connection: a custom BIO over buffers of fixed size that outlive connections.
//!
//! OpenSSL and its forks move bytes in callbacks. Shared with the worker for BoringSSL through
//! `crate::ffi`.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;
use std::sync::LazyLock;

use lab_scenario::{Result, TransportBuffers};

use crate::ffi;

/// A BIO that uses the [`TransportBuffers`] of the current call of [`with_buffers`]. The caller
/// must free it.
pub(crate) fn new() -> Result<*mut ffi::BIO> {
    // SAFETY: the method is complete and lives as long as the process.
    let bio = unsafe { ffi::BIO_new(METHOD.0) };
    if bio.is_null() {
        return Err("no memory for a BIO".into());
    }
    // SAFETY: the BIO is valid.
    unsafe { ffi::BIO_set_init(bio, 1) };
    Ok(bio)
}

/// Runs `call` while `bio` uses `wire`. The BIO is null for a connection with another transport.
pub(crate) fn with_buffers<T>(
    bio: *mut ffi::BIO,
    wire: &mut TransportBuffers,
    call: impl FnOnce() -> T,
) -> T {
    if bio.is_null() {
        return call();
    }
    // SAFETY: callers own the connection, which owns the BIO. The borrow outlives `call`, and the
    // pointer is removed afterwards.
    unsafe {
        ffi::BIO_set_data(bio, ptr::from_mut(wire).cast());
        let result = call();
        ffi::BIO_set_data(bio, ptr::null_mut());
        result
    }
}

struct Method(*mut ffi::BIO_METHOD);

// SAFETY: it is written once, before any other thread can access it.
unsafe impl Send for Method {}
// SAFETY: as above.
unsafe impl Sync for Method {}

static METHOD: LazyLock<Method> = LazyLock::new(|| {
    // SAFETY: the name is a C string, and the callbacks have the required types. Without memory the
    // method is null, which all these functions accept.
    unsafe {
        let method = ffi::BIO_meth_new(ffi::BIO_TYPE_NONE, c"wire".as_ptr());
        ffi::BIO_meth_set_read(method, Some(read));
        ffi::BIO_meth_set_write(method, Some(write));
        ffi::BIO_meth_set_ctrl(method, Some(control));
        Method(method)
    }
});

unsafe extern "C" fn read(bio: *mut ffi::BIO, into: *mut c_char, length: c_int) -> c_int {
    // SAFETY: the library's buffer has this length, and the data is null or the borrowed buffers.
    let (wire, into) = unsafe {
        ffi::BIO_clear_retry_flags(bio);
        let wire = ffi::BIO_get_data(bio).cast::<TransportBuffers>().as_mut();
        let length = usize::try_from(length).unwrap_or_default();
        (wire, std::slice::from_raw_parts_mut(into.cast::<u8>(), length))
    };
    let Some(wire) = wire else { return -1 };
    let count = wire.read(into);
    if count == 0 {
        // SAFETY: this is the BIO of the callback.
        unsafe { ffi::BIO_set_retry_read(bio) };
        return -1;
    }
    c_int::try_from(count).unwrap_or(-1)
}

unsafe extern "C" fn write(bio: *mut ffi::BIO, from: *const c_char, length: c_int) -> c_int {
    // SAFETY: as in `read`.
    let (wire, from) = unsafe {
        ffi::BIO_clear_retry_flags(bio);
        let wire = ffi::BIO_get_data(bio).cast::<TransportBuffers>().as_mut();
        let length = usize::try_from(length).unwrap_or_default();
        (wire, std::slice::from_raw_parts(from.cast::<u8>(), length))
    };
    let Some(wire) = wire else { return -1 };
    let count = wire.write(from);
    count.and_then(|count| c_int::try_from(count).ok()).unwrap_or(-1)
}

unsafe extern "C" fn control(
    _: *mut ffi::BIO,
    command: c_int,
    _: c_long,
    _: *mut c_void,
) -> c_long {
    // All data is written at once, so there is nothing to flush.
    c_long::from(command == ffi::BIO_CTRL_FLUSH)
}
