//! Sessions of clients, and the number of tickets that a server sends.
//!
//! OpenSSL passes both to callbacks that receive only the connection. A thread of a worker has one
//! connection at a time, so the callbacks store them in thread-local variables.

use std::cell::Cell;
use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;

use foreign_types::ForeignType;
use openssl::error::ErrorStack;
use openssl::ssl::{SslContextBuilder, SslSession};
use openssl_sys as ffi;

use crate::client_session;

thread_local! {
    static ISSUED: Cell<u32> = const { Cell::new(0) };
}

/// The number of tickets sent since [`reset_issued`].
pub(crate) fn issued() -> u32 {
    ISSUED.get()
}

/// Resets the count for a new server connection.
pub(crate) fn reset_issued() {
    ISSUED.set(0);
}

/// Stores and counts the tickets that a TLS 1.3 client receives.
pub(crate) fn store_received(builder: &mut SslContextBuilder) {
    // SAFETY: the callback has the required type.
    unsafe { ffi::SSL_CTX_sess_set_new_cb(builder.as_ptr(), Some(arrives)) };
}

/// Counts the tickets of a server. A server that resumes TLS 1.2 sends a new ticket, as other
/// libraries do.
pub(crate) fn count_issued(builder: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    let context = builder.as_ptr();
    // SAFETY: the callbacks have the required types.
    match unsafe { SSL_CTX_set_session_ticket_cb(context, issues, opens, ptr::null_mut()) } {
        1 => Ok(()),
        _ => Err(ErrorStack::get()),
    }
}

unsafe extern "C" fn arrives(_: *mut ffi::SSL, session: *mut ffi::SSL_SESSION) -> c_int {
    client_session::count_received(1);
    // SAFETY: the return value 1 transfers the reference to this program.
    client_session::keep(Some(unsafe { SslSession::from_ptr(session) }));
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

// Constants of <openssl/ssl.h> that openssl-sys lacks.
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
