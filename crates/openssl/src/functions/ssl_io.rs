//! SSL: handshake, reading, writing, closing, and what an operation waits for.

use core::ffi::{c_int, c_uchar, c_void};

use super::{FAIL, OK, bytes, room, store};
use crate::connection::Ssl;
use crate::connection::state::{NO_UPDATE, Side, UPDATE_NOT_REQUESTED, WaitingMessage, Want};
use crate::connection::writing::Transfer;
use crate::entry::functions;
use crate::errors::{self, reasons};
use crate::settings::options::RECEIVED_SHUTDOWN;
use crate::sys::bio::{
    FLAG_IO_SPECIAL, FLAG_READ, FLAG_WRITE, RETRY_REASON_ACCEPT, RETRY_REASON_CONNECT,
};

const ERROR_NONE: c_int = 0;
const ERROR_SSL: c_int = 1;
pub(super) const ERROR_WANT_READ: c_int = 2;
pub(super) const ERROR_WANT_WRITE: c_int = 3;
pub(super) const ERROR_WANT_X509_LOOKUP: c_int = 4;
const ERROR_SYSCALL: c_int = 5;
const ERROR_ZERO_RETURN: c_int = 6;
pub(super) const ERROR_WANT_CONNECT: c_int = 7;
pub(super) const ERROR_WANT_ACCEPT: c_int = 8;
const ERROR_WANT_CLIENT_HELLO_CB: c_int = 11;
const ERROR_WANT_RETRY_VERIFY: c_int = 12;

functions! {
    fn SSL_do_handshake(ssl: &Ssl;) -> c_int = -1 => {
        handshake(ssl)
    }
    fn SSL_accept(ssl: &Ssl;) -> c_int = -1 => {
        ssl.take_side(Side::Server);
        handshake(ssl)
    }
    fn SSL_connect(ssl: &Ssl;) -> c_int = -1 => {
        ssl.take_side(Side::Client);
        handshake(ssl)
    }
    fn SSL_read(ssl: &Ssl; to: *mut c_void, length: c_int) -> c_int = -1 => {
        if length < 0 {
            errors::push(reasons::BAD_LENGTH);
            return -1;
        }
        // SAFETY: the caller's duty.
        let out = unsafe { room(to.cast::<c_uchar>(), length) };
        result(read(ssl, out, false))
    }
    fn SSL_peek(ssl: &Ssl; to: *mut c_void, length: c_int) -> c_int = -1 => {
        if length < 0 {
            errors::push(reasons::BAD_LENGTH);
            return -1;
        }
        // SAFETY: the caller's duty.
        let out = unsafe { room(to.cast::<c_uchar>(), length) };
        result(read(ssl, out, true))
    }
    fn SSL_read_ex(ssl: &Ssl; to: *mut c_void, length: usize, count: *mut usize) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let out = unsafe { room(to.cast::<c_uchar>(), length) };
        // SAFETY: the caller's duty.
        unsafe { result_ex(read(ssl, out, false), count) }
    }
    fn SSL_peek_ex(ssl: &Ssl; to: *mut c_void, length: usize, count: *mut usize) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let out = unsafe { room(to.cast::<c_uchar>(), length) };
        // SAFETY: the caller's duty.
        unsafe { result_ex(read(ssl, out, true), count) }
    }
    fn SSL_write(ssl: &Ssl; from: *const c_void, length: c_int) -> c_int = -1 => {
        if length < 0 {
            errors::push(reasons::BAD_LENGTH);
            return -1;
        }
        // SAFETY: the caller's duty.
        let data = unsafe { bytes(from.cast::<c_uchar>(), length) };
        result(write(ssl, data))
    }
    fn SSL_write_ex(ssl: &Ssl; from: *const c_void, length: usize, count: *mut usize)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let data = unsafe { bytes(from.cast::<c_uchar>(), length) };
        // SAFETY: the caller's duty.
        unsafe { result_ex(write(ssl, data), count) }
    }
    fn SSL_pending(ssl: &Ssl;) -> c_int = 0 => {
        c_int::try_from(ssl.plaintext.borrow().len()).unwrap_or(c_int::MAX)
    }
    fn SSL_has_pending(ssl: &Ssl;) -> c_int = 0 => {
        c_int::from(ssl.plaintext.borrow().len() > 0 || !ssl.received.borrow().is_empty())
    }
    fn SSL_shutdown(ssl: &Ssl;) -> c_int = -1 => {
        ssl.close()
    }
    fn SSL_get_error(ssl: &Ssl; returned: c_int) -> c_int = ERROR_SSL => {
        error_of(ssl, returned)
    }
    fn SSL_want(ssl: &Ssl;) -> c_int = 1 => {
        match ssl.want.get() {
            Want::Nothing => 1,
            Want::Write => 2,
            Want::Read => 3,
            Want::Lookup => 4,
            Want::ClientHello => 7,
            Want::RetryVerify => 8,
        }
    }
    fn SSL_set_shutdown(ssl: &Ssl; flags: c_int) -> () = () => {
        ssl.shutdown.set(flags);
    }
    fn SSL_get_shutdown(ssl: &Ssl;) -> c_int = 0 => {
        ssl.shutdown.get()
    }
    fn SSL_key_update(ssl: &Ssl; kind: c_int) -> c_int = FAIL => {
        ssl.update_key(kind).map_or(FAIL, |()| OK)
    }
    fn SSL_get_key_update_type(ssl: &Ssl;) -> c_int = -1 => {
        match ssl.waiting.get() {
            Some(WaitingMessage::KeyUpdate(kind)) => kind,
            // The answer to the peer, without a request.
            _ if ssl.owes_update.get() => UPDATE_NOT_REQUESTED,
            _ => NO_UPDATE,
        }
    }
    fn SSL_renegotiate(ssl: &Ssl;) -> c_int = FAIL => {
        refuse_renegotiation(ssl, "SSL_renegotiate is not supported")
    }
    fn SSL_renegotiate_abbreviated(ssl: &Ssl;) -> c_int = FAIL => {
        refuse_renegotiation(ssl, "SSL_renegotiate_abbreviated is not supported")
    }
    fn SSL_free_buffers(ssl: &Ssl;) -> c_int = FAIL => {
        c_int::from(ssl.plaintext.borrow().len() == 0)
    }
}

/// Fails. Apache ignores the result, and calls `SSL_do_handshake`, which fails then, too: otherwise
/// it would believe that the client's certificate was verified again. In TLS 1.3 the result is
/// OpenSSL's, and a handshake is none.
fn refuse_renegotiation(ssl: &Ssl, what: &str) -> c_int {
    if ssl.is_tls13() {
        errors::push(reasons::WRONG_SSL_VERSION);
        return FAIL;
    }
    errors::push_with(reasons::NO_RENEGOTIATION, what);
    ssl.refused_renegotiation.set(ssl.is_connected());
    FAIL
}

fn handshake(ssl: &Ssl) -> c_int {
    ssl.as_both(|| ssl.do_handshake()).unwrap_or(-1)
}

pub(super) fn read(ssl: &Ssl, out: &mut [u8], peek: bool) -> Transfer {
    ssl.as_reader(|| ssl.read(out, peek)).unwrap_or(Transfer::Stopped)
}

pub(super) fn write(ssl: &Ssl, data: &[u8]) -> Transfer {
    ssl.as_writer(|| ssl.write(data)).unwrap_or(Transfer::Stopped)
}

/// The result of a function that returns the number of bytes.
fn result(transfer: Transfer) -> c_int {
    match transfer {
        Transfer::Bytes(count) => c_int::try_from(count).unwrap_or(c_int::MAX),
        Transfer::Stopped => -1,
        Transfer::End => 0,
    }
}

/// The result of a function that stores the number of bytes.
///
/// # Safety
/// The pointer is NULL or to a number.
unsafe fn result_ex(transfer: Transfer, count: *mut usize) -> c_int {
    match transfer {
        Transfer::Bytes(transferred) => {
            // SAFETY: as this function's contract.
            unsafe { store(count, transferred) };
            OK
        }
        _ => FAIL,
    }
}

/// What the result of an operation means.
pub(super) fn error_of(ssl: &Ssl, returned: c_int) -> c_int {
    if returned > 0 {
        return ERROR_NONE;
    }
    if let Some(of_system) = errors::oldest_is_of_system() {
        return if of_system { ERROR_SYSCALL } else { ERROR_SSL };
    }
    let (bio, usual) = match ssl.want.get() {
        Want::Lookup => return ERROR_WANT_X509_LOOKUP,
        Want::ClientHello => return ERROR_WANT_CLIENT_HELLO_CB,
        Want::RetryVerify => return ERROR_WANT_RETRY_VERIFY,
        Want::Read => (ssl.input.borrow().clone(), ERROR_WANT_READ),
        Want::Write => (ssl.output.borrow().clone(), ERROR_WANT_WRITE),
        // As in OpenSSL, an alert whose entry has left the queue has this result, too.
        Want::Nothing if ssl.shutdown.get() & RECEIVED_SHUTDOWN != 0 => return ERROR_ZERO_RETURN,
        Want::Nothing => return ERROR_SYSCALL,
    };
    // A BIO that is read may ask to be written first (`BIO_should_write`).
    let Some(bio) = bio else { return usual };
    if bio.has_flags(FLAG_IO_SPECIAL) {
        match bio.retry_reason() {
            RETRY_REASON_CONNECT => return ERROR_WANT_CONNECT,
            RETRY_REASON_ACCEPT => return ERROR_WANT_ACCEPT,
            _ => return ERROR_SYSCALL,
        }
    }
    match (bio.has_flags(FLAG_READ), bio.has_flags(FLAG_WRITE)) {
        (true, false) => ERROR_WANT_READ,
        (false, true) => ERROR_WANT_WRITE,
        _ => usual,
    }
}
