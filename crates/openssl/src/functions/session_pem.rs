//! Sessions in PEM files. What is in them is that of `i2d_SSL_SESSION`.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;

use super::FAIL;
use super::session::{d2i_SSL_SESSION, i2d_SSL_SESSION};
use crate::entry::functions;
use crate::session::Session;
use crate::sys::bio::BIO;
use crate::sys::pem::{PEM_ASN1_read, PEM_ASN1_read_bio, PEM_ASN1_write, PEM_ASN1_write_bio};
use crate::sys::x509::PasswordCallback;

const NAME: &CStr = c"SSL SESSION PARAMETERS";

fn encoder() -> *const c_void {
    i2d_SSL_SESSION as *const c_void
}

fn decoder() -> *const c_void {
    d2i_SSL_SESSION as *const c_void
}

functions! {
    fn PEM_write_bio_SSL_SESSION(; bio: *mut BIO, session: *const Session) -> c_int = FAIL => {
        let none = ptr::null_mut();
        // SAFETY: the caller's duty; the function encodes a session.
        unsafe {
            let session = session.cast::<c_void>();
            PEM_ASN1_write_bio(
                encoder(), NAME.as_ptr(), bio, session, ptr::null(), ptr::null(), 0, None, none,
            )
        }
    }
    fn PEM_write_SSL_SESSION(; file: *mut c_void, session: *const Session) -> c_int = FAIL => {
        let none = ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            let session = session.cast::<c_void>();
            PEM_ASN1_write(
                encoder(), NAME.as_ptr(), file, session, ptr::null(), ptr::null(), 0, None, none,
            )
        }
    }
    fn PEM_read_bio_SSL_SESSION(;
        bio: *mut BIO, to: *mut *mut Session, callback: PasswordCallback, argument: *mut c_void,
    ) -> *mut Session = ptr::null_mut() => {
        // SAFETY: the caller's duty; the function decodes a session.
        unsafe {
            PEM_ASN1_read_bio(decoder(), NAME.as_ptr(), bio, to.cast(), callback, argument).cast()
        }
    }
    fn PEM_read_SSL_SESSION(;
        file: *mut c_void, to: *mut *mut Session, callback: PasswordCallback, argument: *mut c_void,
    ) -> *mut Session = ptr::null_mut() => {
        // SAFETY: as above.
        unsafe {
            PEM_ASN1_read(decoder(), NAME.as_ptr(), file, to.cast(), callback, argument).cast()
        }
    }
}
