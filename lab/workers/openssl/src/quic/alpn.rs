//! The protocol of both sides. Shared with the worker for BoringSSL through `crate::ffi` and
//! `crate::library`.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use foreign_types::ForeignType;
use lab_quic::ALPN;
use lab_scenario::PrepareError;

use crate::ffi;
use crate::library::error::ErrorStack;
use crate::library::ssl::SslContext;

/// Makes the client offer the protocol, and the server select it. No other code uses the contexts
/// yet.
pub(super) fn set(client: &SslContext, server: &SslContext) -> Result<(), PrepareError> {
    let protocols = [&[u8::try_from(ALPN.len())?], ALPN.as_bytes()].concat();
    let length = protocols.len().try_into()?;
    // SAFETY: both contexts are valid, the callback has the required type, and the list has the
    // given length.
    let failed = unsafe {
        ffi::SSL_CTX_set_alpn_select_cb(server.as_ptr(), Some(select), ptr::null_mut());
        ffi::SSL_CTX_set_alpn_protos(client.as_ptr(), protocols.as_ptr(), length)
    };
    if failed == 0 { Ok(()) } else { Err(ErrorStack::get().into()) }
}

unsafe extern "C" fn select(
    _: *mut ffi::SSL,
    selected: *mut *const u8,
    length: *mut u8,
    _: *const u8,
    _: c_uint,
    _: *mut c_void,
) -> c_int {
    // SAFETY: both outputs can be written.
    unsafe {
        *selected = ALPN.as_ptr();
        *length = u8::try_from(ALPN.len()).unwrap_or(0);
    }
    ffi::SSL_TLSEXT_ERR_OK
}
