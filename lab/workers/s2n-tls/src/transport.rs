//! The transport of a connection: callbacks over buffers that outlive connections.
//!
//! Must not know: TLS. Next: [`lab_scenario::Wire`].

use std::ffi::{c_int, c_void};
use std::ptr;

use errno::{Errno, set_errno};
use lab_scenario::{Result, Wire};
use s2n_tls_sys as ffi;

use crate::error::done;

/// Has a connection read from and write to the [`Wire`] it was [lent](lend) last.
pub(crate) fn connect(connection: *mut ffi::s2n_connection) -> Result<()> {
    // SAFETY: callers hold the connection, and the callbacks have the types that are asked for.
    unsafe {
        done(ffi::s2n_connection_set_recv_cb(connection, Some(read)))?;
        done(ffi::s2n_connection_set_send_cb(connection, Some(write)))
    }
}

/// Lends `wire` to `connection` for the time of `call`.
pub(crate) fn lend<T>(
    connection: *mut ffi::s2n_connection,
    wire: &mut Wire,
    call: impl FnOnce() -> T,
) -> Result<T> {
    // SAFETY: callers hold the connection. The borrow outlives `call`, and without another loan there is
    // no other call that reads or writes.
    unsafe {
        let wire = ptr::from_mut(wire).cast();
        done(ffi::s2n_connection_set_recv_ctx(connection, wire))?;
        done(ffi::s2n_connection_set_send_ctx(connection, wire))?;
    }
    Ok(call())
}

unsafe extern "C" fn read(wire: *mut c_void, into: *mut u8, length: u32) -> c_int {
    // SAFETY: the context is what is lent at the moment, and the library's buffer has this length.
    let (wire, into) = unsafe {
        let length = usize::try_from(length).unwrap_or_default();
        (wire.cast::<Wire>().as_mut(), std::slice::from_raw_parts_mut(into, length))
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
        (wire.cast::<Wire>().as_mut(), std::slice::from_raw_parts(from, length))
    };
    let count = wire.and_then(|wire| wire.write(from));
    count.and_then(|count| c_int::try_from(count).ok()).unwrap_or(-1)
}
