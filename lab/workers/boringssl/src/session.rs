//! Sessions of clients, and the tickets that a server sends.

use std::ffi::c_int;
use std::ptr;
use std::sync::OnceLock;

use boring::error::ErrorStack;
use boring::ssl::{SslContextBuilder, SslSession};
use boring_sys as ffi;
use foreign_types::ForeignType;
use lab_scenario::{Row, Version};

use crate::client_session;

/// Stores the sessions that a client receives, and counts tickets.
pub(crate) fn store_received(builder: &mut SslContextBuilder) {
    // SAFETY: the callback has the required type.
    unsafe { ffi::SSL_CTX_sess_set_new_cb(builder.as_ptr(), Some(arrives)) };
}

/// Makes a server send the row's number of tickets. It renews a TLS 1.2 ticket at resumption, as
/// other libraries do. The renewal requires a callback for the keys. This callback does what
/// BoringSSL does by default.
pub(crate) fn issue(builder: &mut SslContextBuilder, row: &Row) -> Result<(), ErrorStack> {
    let context = builder.as_ptr();
    // SAFETY: the callback has the required type.
    let set = unsafe {
        match row.version {
            Version::Tls12 => ffi::SSL_CTX_set_tlsext_ticket_key_cb(context, Some(ticket_key)),
            Version::Tls13 => ffi::SSL_CTX_set_num_tickets(context, row.tickets.into()),
        }
    };
    if set == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

unsafe extern "C" fn arrives(_: *mut ffi::SSL, session: *mut ffi::SSL_SESSION) -> c_int {
    // SAFETY: the session is valid, and the return value 1 transfers the reference to this program.
    unsafe {
        client_session::count_received(u32::from(ffi::SSL_SESSION_has_ticket(session) == 1));
        client_session::keep(Some(SslSession::from_ptr(session)));
    }
    1
}

/// A ticket key: its name and its secrets.
struct TicketKey {
    name: [u8; 16],
    aes: [u8; 16],
    hmac: [u8; 16],
}

/// The key of the process.
fn key() -> &'static TicketKey {
    static KEY: OnceLock<TicketKey> = OnceLock::new();
    let random = || {
        let mut bytes = [0; 16];
        // SAFETY: the buffer has the given length. This function never fails.
        unsafe { ffi::RAND_bytes(bytes.as_mut_ptr(), bytes.len()) };
        bytes
    };
    KEY.get_or_init(|| TicketKey { name: random(), aes: random(), hmac: random() })
}

const FAILED: c_int = -1;
const UNKNOWN: c_int = 0;
const SEALS: c_int = 1;
const OPENS_AND_RENEW: c_int = 2;

unsafe extern "C" fn ticket_key(
    _: *mut ffi::SSL,
    name: *mut u8,
    iv: *mut u8,
    cipher: *mut ffi::EVP_CIPHER_CTX,
    hmac: *mut ffi::HMAC_CTX,
    encrypt: c_int,
) -> c_int {
    let (key, no_engine) = (key(), ptr::null_mut());
    // SAFETY: `name` and `iv` have 16 bytes and are written only for encryption; both contexts can
    // be initialized, and the keys have the lengths of their algorithms.
    unsafe {
        let aes = ffi::EVP_aes_128_cbc();
        let (cipher, answer) = if encrypt == 1 {
            ptr::copy_nonoverlapping(key.name.as_ptr(), name, key.name.len());
            ffi::RAND_bytes(iv, 16);
            (ffi::EVP_EncryptInit_ex(cipher, aes, no_engine, key.aes.as_ptr(), iv), SEALS)
        } else {
            if std::slice::from_raw_parts(name, key.name.len()) != key.name {
                return UNKNOWN;
            }
            (ffi::EVP_DecryptInit_ex(cipher, aes, no_engine, key.aes.as_ptr(), iv), OPENS_AND_RENEW)
        };
        let (secret, sha256) = (key.hmac.as_ptr().cast(), ffi::EVP_sha256());
        match (cipher, ffi::HMAC_Init_ex(hmac, secret, key.hmac.len(), sha256, no_engine)) {
            (1, 1) => answer,
            _ => FAILED,
        }
    }
}
