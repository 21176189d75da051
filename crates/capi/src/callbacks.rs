//! The functions of the caller that the library calls: a key log, and a clock. Both are optional.

use core::ffi::{c_char, c_void};
use core::time::Duration;
use std::ffi::CString;

use tercel::clock::Clock;
use tercel::key_log::KeyLog;
use tercel::pki_types::UnixTime;

/// Receives one secret of a connection, for a line "label random secret" of the NSS key log format,
/// with the bytes in hexadecimal. The label is NUL-terminated, the random has 32 bytes. For
/// debugging only: the secrets suffice to decrypt the connection.
///
/// Threads may call the function at once. The pointers are valid during the call. It must return:
/// no exception and no longjmp may leave it. It must not use the handles of the connection, but may
/// free them.
pub type KeyLogFunction = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        label: *const c_char,
        random: *const u8,
        secret: *const u8,
        secret_len: usize,
    ),
>;

/// Returns the current time in seconds since 1970. Threads may call the function at once. It must
/// return: no exception and no longjmp may leave it. It must not use the handles of the connection
/// or of the builder, but may free them.
pub type ClockFunction = Option<unsafe extern "C" fn(context: *mut c_void) -> u64>;

/// A function of the caller, and the pointer that it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Callback<F> {
    pub(crate) function: F,
    pub(crate) context: *mut c_void,
}

// SAFETY: the function may be called by any thread, and the pointer is only passed to it. The
// documentation of both types requires that of the caller.
unsafe impl<F: Send> Send for Callback<F> {}
// SAFETY: as for Send; several threads may call the function at once.
unsafe impl<F: Sync> Sync for Callback<F> {}

pub(crate) type KeyLogCallback =
    Callback<unsafe extern "C" fn(*mut c_void, *const c_char, *const u8, *const u8, usize)>;

pub(crate) type ClockCallback = Callback<unsafe extern "C" fn(*mut c_void) -> u64>;

impl KeyLog for KeyLogCallback {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let label = CString::new(label).unwrap_or_default();
        let (random, length) = (client_random.as_ptr(), secret.len());
        // SAFETY: the caller set this function for these arguments, which live during the call.
        unsafe { (self.function)(self.context, label.as_ptr(), random, secret.as_ptr(), length) }
    }
}

impl Clock for ClockCallback {
    fn now(&self) -> UnixTime {
        // SAFETY: the caller set this function for this argument.
        let seconds = unsafe { (self.function)(self.context) };
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }
}
