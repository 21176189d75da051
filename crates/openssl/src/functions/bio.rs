//! BIOs that contain a connection, which are not supported yet.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::entry::functions;
use crate::errors;

/// Defines functions that fail with an entry in the queue.
macro_rules! refused {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $value:expr;)*) => {
        functions! {
            $(
                fn $name(; $($argument: $type),*) -> $result = $value => {
                    errors::push_unsupported(concat!(stringify!($name), " is not supported"));
                    $value
                }
            )*
        }
    };
}

refused! {
    fn BIO_f_ssl() -> *const c_void = ptr::null();
    fn BIO_new_ssl(_context: *mut c_void, _client: c_int) -> *mut c_void = ptr::null_mut();
    fn BIO_new_ssl_connect(_context: *mut c_void) -> *mut c_void = ptr::null_mut();
    fn BIO_new_buffer_ssl_connect(_context: *mut c_void) -> *mut c_void = ptr::null_mut();
    fn BIO_ssl_copy_session_id(_to: *mut c_void, _from: *mut c_void) -> c_int = 0;
}

functions! {
    fn BIO_ssl_shutdown(; _bio: *mut c_void) -> () = () => {}
}
