//! SSL: the peer's certificates.

use core::ffi::{c_char, c_int, c_long};
use core::ptr;

use super::FAIL;
use crate::connection::Ssl;
use crate::connection::state::Side;
use crate::entry::functions;
use crate::objects::list::Certificates;
use crate::sys::stack::Stack;
use crate::sys::x509::X509;

functions! {
    fn SSL_get1_peer_certificate(ssl: &Ssl;) -> *mut X509 = ptr::null_mut() => {
        ssl.peer_certificate().map_or(ptr::null_mut(), |leaf| leaf.to_raw())
    }
    fn SSL_get0_peer_certificate(ssl: &Ssl;) -> *mut X509 = ptr::null_mut() => {
        ssl.peer_certificate().map_or(ptr::null_mut(), |leaf| leaf.as_ptr())
    }
    /// With the leaf on a client, without it on a server.
    fn SSL_get_peer_cert_chain(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        let chain = ssl.peer_chain.borrow();
        let is_hidden = ssl.is_server() && ssl.is_refused.get();
        if chain.is_empty() || is_hidden {
            return ptr::null_mut();
        }
        let skipped = usize::from(ssl.side.get() == Some(Side::Server));
        let shown = chain.get(skipped..).unwrap_or_default();
        let mut lent = ssl.lent.peer_chain.borrow_mut();
        if lent.is_none() {
            *lent = Certificates::of(shown);
        }
        lent.as_ref().map_or(ptr::null_mut(), Certificates::as_ptr)
    }
    fn SSL_get0_verified_chain(ssl: &Ssl;) -> *mut Stack = ptr::null_mut() => {
        let chain = ssl.verified_chain.borrow();
        if chain.is_empty() {
            return ptr::null_mut();
        }
        let mut lent = ssl.lent.verified_chain.borrow_mut();
        if lent.is_none() {
            *lent = Certificates::of(&chain);
        }
        lent.as_ref().map_or(ptr::null_mut(), Certificates::as_ptr)
    }
    fn SSL_get_verify_result(ssl: &Ssl;) -> c_long = 1 => {
        ssl.verify_result.get()
    }
    fn SSL_set_verify_result(ssl: &Ssl; result: c_long) -> () = () => {
        ssl.verify_result.set(result);
    }
    fn SSL_get0_peername(ssl: &Ssl;) -> *const c_char = ptr::null() => {
        // SAFETY: the parameters exist; the name exists as long as they are not changed.
        unsafe { crate::sys::x509::X509_VERIFY_PARAM_get0_peername(ssl.parameters.as_ptr()) }
    }
    fn SSL_verify_client_post_handshake(ssl: &Ssl;) -> c_int = FAIL => {
        ssl.as_writer(|| ssl.request_certificate()).flatten().map_or(FAIL, |()| 1)
    }
}
