//! Early data, which is refused: a server that reads it gets none, and the handshake continues.

use core::ffi::{c_int, c_void};

use super::{FAIL, OK, store};
use crate::connection::Ssl;
use crate::context::Context;
use crate::entry::functions;
use crate::errors;

/// The server read all early data, of which there is none.
const READ_EARLY_DATA_FINISH: c_int = 2;
const READ_EARLY_DATA_ERROR: c_int = 0;

functions! {
    fn SSL_read_early_data(ssl: &Ssl; _to: *mut c_void, _length: usize, count: *mut usize)
        -> c_int = READ_EARLY_DATA_ERROR => {
        // SAFETY: the caller's duty.
        unsafe { store(count, 0) };
        match ssl.as_both(|| ssl.do_handshake()) {
            Some(1) => READ_EARLY_DATA_FINISH,
            _ => READ_EARLY_DATA_ERROR,
        }
    }
    fn SSL_write_early_data(_ssl: &Ssl; _from: *const c_void, _length: usize, _count: *mut usize)
        -> c_int = FAIL => {
        errors::push_unsupported("early data is not supported yet");
        FAIL
    }
    fn SSL_get_early_data_status(_ssl: &Ssl;) -> c_int = 0 => {
        0
    }
    fn SSL_CTX_set_recv_max_early_data(_context: &Context; _bytes: u32) -> c_int = FAIL => {
        OK
    }
    fn SSL_CTX_get_recv_max_early_data(_context: &Context;) -> u32 = 0 => {
        0
    }
    fn SSL_set_recv_max_early_data(_ssl: &Ssl; _bytes: u32) -> c_int = FAIL => {
        OK
    }
    fn SSL_get_recv_max_early_data(_ssl: &Ssl;) -> u32 = 0 => {
        0
    }
    fn SSL_CTX_set_allow_early_data_cb(_context: &Context; _callback: *const c_void, _argument: *mut c_void)
        -> () = () => {}
    fn SSL_set_allow_early_data_cb(_ssl: &Ssl; _callback: *const c_void, _argument: *mut c_void)
        -> () = () => {}
}
