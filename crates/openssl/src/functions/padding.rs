//! The padding of records, which TLS 1.3 has. RFC 9846 5.4

use core::ffi::c_int;

use super::{FAIL, OK};
use crate::connection::Ssl;
use crate::context::Context;
use crate::entry::functions;
use crate::errors;
use crate::settings::callbacks::AnyFunction;

/// The largest block of OpenSSL.
const MOST: usize = 1 << 14;
/// The largest block of [`tercel::Padding`].
const MOST_SUPPORTED: u16 = 4096;

functions! {
    fn SSL_CTX_set_block_padding(context: &Context; size: usize) -> c_int = FAIL => {
        put_block(size, |block| context.change(|settings| settings.padding_block = block))
    }
    fn SSL_set_block_padding(ssl: &Ssl; size: usize) -> c_int = FAIL => {
        put_block(size, |block| ssl.change(|settings| settings.padding_block = block))
    }
    /// Callbacks are not called. There is no result that says so, so connections fail.
    fn SSL_CTX_set_record_padding_callback(context: &Context; callback: AnyFunction) -> () = () => {
        context.change(|settings| settings.pads_by_callback = callback.is_some());
    }
}

fn put_block(size: usize, put: impl FnOnce(u16)) -> c_int {
    match block(size) {
        Some(block) => {
            put(block);
            OK
        }
        None => FAIL,
    }
}

/// The block for a size, which is 0 without padding. `None` for a size that is too large.
pub(super) fn block(size: usize) -> Option<u16> {
    match u16::try_from(size) {
        Ok(0 | 1) => Some(0),
        Ok(block @ ..=MOST_SUPPORTED) => Some(block),
        _ => {
            // As in OpenSSL, a size that no record can have adds no error.
            if size <= MOST {
                errors::push_unsupported(
                    "set_block_padding to more than 4096 bytes is not supported",
                );
            }
            None
        }
    }
}
