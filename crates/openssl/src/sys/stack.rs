//! STACK_OF: libcrypto's lists.

use core::ffi::{c_int, c_void};

super::opaque! {
    /// A list of pointers.
    Stack,
}

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn OPENSSL_sk_new_null() -> *mut Stack;
    pub(crate) fn OPENSSL_sk_push(stack: *mut Stack, value: *const c_void) -> c_int;
    pub(crate) fn OPENSSL_sk_num(stack: *const Stack) -> c_int;
    pub(crate) fn OPENSSL_sk_value(stack: *const Stack, index: c_int) -> *mut c_void;
    pub(crate) fn OPENSSL_sk_free(stack: *mut Stack);
    pub(crate) fn OPENSSL_sk_pop_free(
        stack: *mut Stack,
        free: Option<unsafe extern "C" fn(*mut c_void)>,
    );
}
