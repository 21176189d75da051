//! The transport of a connection: callbacks over buffers that outlive connections.

use std::ffi::{c_int, c_void};
use std::ptr;

use errno::{Errno, set_errno};
use lab_scenario::{Result, TransportBuffers};
use s2n_tls_sys as ffi;

use crate::error::done;

/// Makes a connection use the [`TransportBuffers`] of the innermost call of [`with_buffers`].
pub(crate) fn connect(connection: *mut ffi::s2n_connection) -> Result<()> {
    // SAFETY: callers own the connection, and the callbacks have the required types.
    unsafe {
        done(ffi::s2n_connection_set_recv_cb(connection, Some(read)))?;
        done(ffi::s2n_connection_set_send_cb(connection, Some(write)))
    }
}

/// Runs `call` while `connection` uses `wire`.
pub(crate) fn with_buffers<T>(
    connection: *mut ffi::s2n_connection,
    wire: &mut TransportBuffers,
    call: impl FnOnce() -> T,
) -> Result<T> {
    // SAFETY: callers own the connection. The borrow outlives `call`, and no other calls read or
    // write.
    unsafe {
        let wire = ptr::from_mut(wire).cast();
        done(ffi::s2n_connection_set_recv_ctx(connection, wire))?;
        done(ffi::s2n_connection_set_send_ctx(connection, wire))?;
    }
    Ok(call())
}

unsafe extern "C" fn read(wire: *mut c_void, into: *mut u8, length: u32) -> c_int {
    // SAFETY: the context is the borrowed buffers, and the library's buffer has this length.
    let (wire, into) = unsafe {
        let length = usize::try_from(length).unwrap_or_default();
        (wire.cast::<TransportBuffers>().as_mut(), std::slice::from_raw_parts_mut(into, length))
    };
    match wire.map_or(0, |wire| wire.read(into)) {
        0 => {
            set_errno(Errno(libc::EWOULDBLOCK));
            -1
        }
        count => c_int::try_from(count).unwrap_or(-1),
    }
}

unsafe extern "C" fn write(wire: *mut c_void, from: *const u8, length: u32) -> c_int {
    // SAFETY: as in `read`.
    let (wire, from) = unsafe {
        let length = usize::try_from(length).unwrap_or_default();
        (wire.cast::<TransportBuffers>().as_mut(), std::slice::from_raw_parts(from, length))
    };
    let count = wire.and_then(|wire| wire.write(from));
    count.and_then(|count| c_int::try_from(count).ok()).unwrap_or(-1)
}
