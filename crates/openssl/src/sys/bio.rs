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
/// `BIO_RR_SSL_X509_LOOKUP`.
pub(crate) const RETRY_REASON_LOOKUP: c_int = 1;
pub(crate) const CTRL_RESET: c_int = 1;
pub(crate) const CTRL_EOF: c_int = 2;
pub(crate) const CTRL_INFO: c_int = 3;
pub(crate) const CTRL_PUSH: c_int = 6;
pub(crate) const CTRL_POP: c_int = 7;
pub(crate) const CTRL_GET_CLOSE: c_int = 8;
pub(crate) const CTRL_SET_CLOSE: c_int = 9;
pub(crate) const CTRL_PENDING: c_int = 10;
pub(crate) const CTRL_FLUSH: c_int = 11;
pub(crate) const CTRL_DUP: c_int = 12;
pub(crate) const CTRL_WPENDING: c_int = 13;
pub(crate) const CTRL_SET_CALLBACK: c_int = 14;
pub(crate) const DO_STATE_MACHINE: c_int = 101;
pub(crate) const SET_FD: c_int = 104;
pub(crate) const GET_FD: c_int = 105;
pub(crate) const SET_SSL: c_int = 109;
pub(crate) const GET_SSL: c_int = 110;
pub(crate) const SSL_MODE: c_int = 119;
pub(crate) const SET_SSL_RENEGOTIATE_BYTES: c_int = 125;
pub(crate) const GET_SSL_NUM_RENEGOTIATES: c_int = 126;
pub(crate) const SET_SSL_RENEGOTIATE_TIMEOUT: c_int = 127;
pub(crate) const TYPE_SSL: c_int = 0x0207;
pub(crate) const TYPE_SOCKET: c_int = 0x0505;
pub(crate) const TYPE_DESCRIPTOR: c_int = 0x0100;

/// `BIO_info_cb`.
pub(crate) type InfoCallback = Option<unsafe extern "C" fn(*mut BIO, c_int, c_int) -> c_int>;

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
    pub(crate) fn BIO_push(bio: *mut BIO, next: *mut BIO) -> *mut BIO;
    pub(crate) fn BIO_next(bio: *mut BIO) -> *mut BIO;
    pub(crate) fn BIO_set_next(bio: *mut BIO, next: *mut BIO);
    pub(crate) fn BIO_get_data(bio: *mut BIO) -> *mut c_void;
    pub(crate) fn BIO_set_data(bio: *mut BIO, data: *mut c_void);
    pub(crate) fn BIO_get_init(bio: *mut BIO) -> c_int;
    pub(crate) fn BIO_set_init(bio: *mut BIO, init: c_int);
    pub(crate) fn BIO_get_shutdown(bio: *mut BIO) -> c_int;
    pub(crate) fn BIO_set_shutdown(bio: *mut BIO, shutdown: c_int);
    pub(crate) fn BIO_set_flags(bio: *mut BIO, flags: c_int);
    pub(crate) fn BIO_clear_flags(bio: *mut BIO, flags: c_int);
    pub(crate) fn BIO_set_retry_reason(bio: *mut BIO, reason: c_int);
    pub(crate) fn BIO_copy_next_retry(bio: *mut BIO);
    pub(crate) fn BIO_callback_ctrl(bio: *mut BIO, cmd: c_int, callback: InfoCallback) -> c_long;
    /// The file is a `FILE` of the C library.
    pub(crate) fn BIO_new_fp(file: *mut c_void, close: c_int) -> *mut BIO;
    pub(crate) fn BIO_f_buffer() -> *const BIO_METHOD;
    pub(crate) fn BIO_s_connect() -> *const BIO_METHOD;
    pub(crate) fn BIO_meth_new(kind: c_int, name: *const c_char) -> *mut BIO_METHOD;
    pub(crate) fn BIO_meth_set_write_ex(
        method: *mut BIO_METHOD,
        write: unsafe extern "C" fn(*mut BIO, *const c_char, usize, *mut usize) -> c_int,
    ) -> c_int;
    pub(crate) fn BIO_meth_set_read_ex(
        method: *mut BIO_METHOD,
        read: unsafe extern "C" fn(*mut BIO, *mut c_char, usize, *mut usize) -> c_int,
    ) -> c_int;
    pub(crate) fn BIO_meth_set_puts(
        method: *mut BIO_METHOD,
        puts: unsafe extern "C" fn(*mut BIO, *const c_char) -> c_int,
    ) -> c_int;
    pub(crate) fn BIO_meth_set_ctrl(
        method: *mut BIO_METHOD,
        ctrl: unsafe extern "C" fn(*mut BIO, c_int, c_long, *mut c_void) -> c_long,
    ) -> c_int;
    pub(crate) fn BIO_meth_set_create(
        method: *mut BIO_METHOD,
        create: unsafe extern "C" fn(*mut BIO) -> c_int,
    ) -> c_int;
    pub(crate) fn BIO_meth_set_destroy(
        method: *mut BIO_METHOD,
        destroy: unsafe extern "C" fn(*mut BIO) -> c_int,
    ) -> c_int;
    pub(crate) fn BIO_meth_set_callback_ctrl(
        method: *mut BIO_METHOD,
        ctrl: unsafe extern "C" fn(*mut BIO, c_int, InfoCallback) -> c_long,
    ) -> c_int;
}
