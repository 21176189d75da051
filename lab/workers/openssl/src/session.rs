//! How sessions come to a client, and the count of tickets that a server issues.
//!
//! OpenSSL tells of both by callbacks, which know the connection only; a worker's thread has one connection at
//! a time, so they leave what they have with the thread.
//! Must not know: how connections are driven. Next: `kept.rs`, where the client's are left.

use std::cell::Cell;
use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;

use foreign_types::ForeignType;
use openssl::error::ErrorStack;
use openssl::ssl::{SslContextBuilder, SslSession};
use openssl_sys as ffi;

use crate::kept;

thread_local! {
    static ISSUED: Cell<u32> = const { Cell::new(0) };
}

/// Tickets issued since [`forget_issued`].
pub(crate) fn issued() -> u32 {
    ISSUED.get()
}

/// A new server's connection begins.
pub(crate) fn forget_issued() {
    ISSUED.set(0);
}

/// Keeps and counts what tickets a client of TLS 1.3 receives.
pub(crate) fn keep_arriving(builder: &mut SslContextBuilder) {
    // SAFETY: the callback has the type that is asked for.
    unsafe { ffi::SSL_CTX_sess_set_new_cb(builder.as_ptr(), Some(arrives)) };
}

/// Counts the tickets of a server, and has one that resumes TLS 1.2 issue a new one, as other libraries do.
pub(crate) fn count_issued(builder: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    let context = builder.as_ptr();
    // SAFETY: the callbacks have the types that are asked for.
    match unsafe { SSL_CTX_set_session_ticket_cb(context, issues, opens, ptr::null_mut()) } {
        1 => Ok(()),
        _ => Err(ErrorStack::get()),
    }
}

unsafe extern "C" fn arrives(_: *mut ffi::SSL, session: *mut ffi::SSL_SESSION) -> c_int {
    kept::count_arrived(1);
    // SAFETY: 1 as the answer says that the reference is ours now.
    kept::keep(Some(unsafe { SslSession::from_ptr(session) }));
    1
}

unsafe extern "C" fn issues(_: *mut ffi::SSL, _: *mut c_void) -> c_int {
    ISSUED.set(ISSUED.get() + 1);
    1
}

unsafe extern "C" fn opens(
    _: *mut ffi::SSL,
    _: *mut ffi::SSL_SESSION,
    _: *const c_uchar,
    _: usize,
    status: c_int,
    _: *mut c_void,
) -> c_int {
    match status {
        TICKET_SUCCESS | TICKET_SUCCESS_RENEW => TICKET_USE_RENEW,
        _ => TICKET_IGNORE_RENEW,
    }
}

// What openssl-sys leaves out of <openssl/ssl.h>.
const TICKET_SUCCESS: c_int = 5;
const TICKET_SUCCESS_RENEW: c_int = 6;
const TICKET_IGNORE_RENEW: c_int = 2;
const TICKET_USE_RENEW: c_int = 4;

type Issues = unsafe extern "C" fn(*mut ffi::SSL, *mut c_void) -> c_int;
type Opens = unsafe extern "C" fn(
    *mut ffi::SSL,
    *mut ffi::SSL_SESSION,
    *const c_uchar,
    usize,
    c_int,
    *mut c_void,
) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_session_ticket_cb(
        context: *mut ffi::SSL_CTX,
        issues: Issues,
        opens: Opens,
        argument: *mut c_void,
    ) -> c_int;
}
