//! Early data.

use core::ffi::{c_int, c_uchar, c_void};

use super::{FAIL, OK, bytes, room, store};
use crate::connection::Ssl;
use crate::connection::early_data::EarlyRead;
use crate::connection::writing::Transfer;
use crate::context::Context;
use crate::entry::functions;
use crate::settings::callbacks::{AllowEarlyData, Callback};

const READ_EARLY_DATA_ERROR: c_int = 0;
const READ_EARLY_DATA_SUCCESS: c_int = 1;
/// No early data follows.
const READ_EARLY_DATA_FINISH: c_int = 2;

functions! {
    fn SSL_read_early_data(ssl: &Ssl; to: *mut c_void, length: usize, count: *mut usize)
        -> c_int = READ_EARLY_DATA_ERROR => {
        // SAFETY: the caller's duty, here and below.
        let out = unsafe {
            store(count, 0);
            room(to.cast::<c_uchar>(), length)
        };
        match ssl.as_both(|| ssl.read_early(out)) {
            Some(EarlyRead::Data(read)) => {
                // SAFETY: as above.
                unsafe { store(count, read) };
                READ_EARLY_DATA_SUCCESS
            }
            Some(EarlyRead::Finished) => READ_EARLY_DATA_FINISH,
            Some(EarlyRead::Stopped) | None => READ_EARLY_DATA_ERROR,
        }
    }
    fn SSL_write_early_data(ssl: &Ssl; from: *const c_void, length: usize, count: *mut usize)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty, here and below.
        let data = unsafe { bytes(from.cast::<c_uchar>(), length) };
        match ssl.as_writer(|| ssl.write_early(data)) {
            Some(Transfer::Bytes(written)) => {
                // SAFETY: as above.
                unsafe { store(count, written) };
                OK
            }
            _ => FAIL,
        }
    }
    fn SSL_get_early_data_status(ssl: &Ssl;) -> c_int = 0 => {
        ssl.early_data_status()
    }
    fn SSL_CTX_set_recv_max_early_data(context: &Context; bytes: u32) -> c_int = FAIL => {
        context.change(|settings| settings.recv_max_early_data = bytes);
        OK
    }
    fn SSL_CTX_get_recv_max_early_data(context: &Context;) -> u32 = 0 => {
        context.settings().recv_max_early_data
    }
    fn SSL_set_recv_max_early_data(ssl: &Ssl; bytes: u32) -> c_int = FAIL => {
        ssl.change(|settings| settings.recv_max_early_data = bytes);
        OK
    }
    fn SSL_get_recv_max_early_data(ssl: &Ssl;) -> u32 = 0 => {
        ssl.settings().recv_max_early_data
    }
    fn SSL_CTX_set_allow_early_data_cb(context: &Context; function: AllowEarlyData, argument: *mut c_void)
        -> () = () => {
        context.change(|settings| settings.callbacks.allow_early_data = Callback { function, argument });
    }
    fn SSL_set_allow_early_data_cb(ssl: &Ssl; function: AllowEarlyData, argument: *mut c_void)
        -> () = () => {
        ssl.change(|settings| settings.callbacks.allow_early_data = Callback { function, argument });
    }
}
