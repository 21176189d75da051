//! BIO: the input and output of a connection.

use core::ffi::{c_char, c_int, c_long, c_void};

super::opaque! {
    /// A BIO.
    BIO,
    /// The methods of a kind of BIO.
    BIO_METHOD,
}

pub(crate) const FLAG_READ: c_int = 1;
pub(crate) const FLAG_WRITE: c_int = 2;
pub(crate) const FLAG_IO_SPECIAL: c_int = 4;
pub(crate) const FLAG_SHOULD_RETRY: c_int = 8;
pub(crate) const RETRY_REASON_CONNECT: c_int = 2;
pub(crate) const RETRY_REASON_ACCEPT: c_int = 3;
pub(crate) const CTRL_EOF: c_int = 2;
pub(crate) const CTRL_FLUSH: c_int = 11;
pub(crate) const SET_FD: c_int = 104;
pub(crate) const GET_FD: c_int = 105;
pub(crate) const TYPE_SOCKET: c_int = 0x0505;
pub(crate) const TYPE_DESCRIPTOR: c_int = 0x0100;

#[link(name = "libcrypto.so.3", modifiers = "+verbatim")]
unsafe extern "C" {
    pub(crate) fn BIO_read(bio: *mut BIO, data: *mut c_void, length: c_int) -> c_int;
    pub(crate) fn BIO_write(bio: *mut BIO, data: *const c_void, length: c_int) -> c_int;
    pub(crate) fn BIO_ctrl(bio: *mut BIO, cmd: c_int, larg: c_long, parg: *mut c_void) -> c_long;
    pub(crate) fn BIO_int_ctrl(bio: *mut BIO, cmd: c_int, larg: c_long, iarg: c_int) -> c_long;
    pub(crate) fn BIO_test_flags(bio: *const BIO, flags: c_int) -> c_int;
    pub(crate) fn BIO_get_retry_reason(bio: *mut BIO) -> c_int;
    pub(crate) fn BIO_free_all(bio: *mut BIO);
    pub(crate) fn BIO_up_ref(bio: *mut BIO) -> c_int;
    pub(crate) fn BIO_new(method: *const BIO_METHOD) -> *mut BIO;
    pub(crate) fn BIO_s_socket() -> *const BIO_METHOD;
    pub(crate) fn BIO_new_file(name: *const c_char, mode: *const c_char) -> *mut BIO;
    pub(crate) fn BIO_find_type(bio: *mut BIO, kind: c_int) -> *mut BIO;
    pub(crate) fn BIO_method_type(bio: *const BIO) -> c_int;
}
