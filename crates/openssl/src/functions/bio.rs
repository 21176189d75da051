//! BIOs that contain a connection: `BIO_f_ssl`, and chains with it.
//!
//! Such a BIO is a filter: what is written to it is encrypted, and goes to the next BIO of its
//! chain, which the connection has as its own BIO. The functions below do not hold the connection's
//! lock while they call other BIOs.

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_long, c_uchar, c_void};
use core::mem::ManuallyDrop;
use core::ptr;
use std::sync::{Arc, OnceLock};

use super::session::SSL_copy_session_id;
use super::ssl::{
    SSL_clear, SSL_free, SSL_get_rbio, SSL_get_wbio, SSL_new, SSL_set_accept_state, SSL_set_bio,
    SSL_set_connect_state,
};
use super::ssl_info::SSL_in_init;
use super::ssl_io::{self, SSL_do_handshake, SSL_pending, SSL_shutdown};
use super::{FAIL, OK, bytes, room, store, text};
use crate::connection::Ssl;
use crate::connection::state::Side;
use crate::connection::writing::Transfer;
use crate::context::Context;
use crate::entry::{Entered, functions, object, run};
use crate::errors;
use crate::objects::bio::Bio;
use crate::sys::bio::{
    self, BIO, BIO_METHOD, BIO_callback_ctrl, BIO_clear_flags, BIO_copy_next_retry, BIO_ctrl,
    BIO_f_buffer, BIO_find_type, BIO_get_data, BIO_get_init, BIO_get_retry_reason,
    BIO_get_shutdown, BIO_meth_new, BIO_meth_set_callback_ctrl, BIO_meth_set_create,
    BIO_meth_set_ctrl, BIO_meth_set_destroy, BIO_meth_set_puts, BIO_meth_set_read_ex,
    BIO_meth_set_write_ex, BIO_method_type, BIO_new, BIO_next, BIO_push, BIO_s_connect,
    BIO_set_data, BIO_set_flags, BIO_set_init, BIO_set_next, BIO_set_retry_reason,
    BIO_set_shutdown, BIO_up_ref, BIO_write, FLAG_IO_SPECIAL, FLAG_READ, FLAG_SHOULD_RETRY,
    FLAG_WRITE, InfoCallback,
};

functions! {
    fn BIO_f_ssl(;) -> *const BIO_METHOD = ptr::null() => {
        method()
    }
    fn BIO_new_ssl(; context: *mut Context, client: c_int) -> *mut BIO = ptr::null_mut() => {
        // SAFETY: the caller's duty; what is made here exists.
        unsafe {
            let Some(made) = Bio::from_raw(BIO_new(method())) else { return ptr::null_mut() };
            let ssl = SSL_new(context);
            if ssl.is_null() {
                return ptr::null_mut();
            }
            set_side(ssl, client != 0);
            BIO_ctrl(made.as_ptr(), bio::SET_SSL, 1, ssl.cast());
            ManuallyDrop::new(made).as_ptr()
        }
    }
    fn BIO_new_ssl_connect(; context: *mut Context) -> *mut BIO = ptr::null_mut() => {
        // SAFETY: the caller's duty; what is made here exists.
        unsafe {
            let Some(connect) = Bio::from_raw(BIO_new(BIO_s_connect())) else {
                return ptr::null_mut();
            };
            let ssl = BIO_new_ssl(context, 1);
            if ssl.is_null() {
                return ptr::null_mut();
            }
            BIO_push(ssl, ManuallyDrop::new(connect).as_ptr())
        }
    }
    fn BIO_new_buffer_ssl_connect(; context: *mut Context) -> *mut BIO = ptr::null_mut() => {
        // SAFETY: the caller's duty; what is made here exists.
        unsafe {
            let Some(buffer) = Bio::from_raw(BIO_new(BIO_f_buffer())) else {
                return ptr::null_mut();
            };
            let ssl = BIO_new_ssl_connect(context);
            if ssl.is_null() {
                return ptr::null_mut();
            }
            BIO_push(ManuallyDrop::new(buffer).as_ptr(), ssl)
        }
    }
    fn BIO_ssl_copy_session_id(; to: *mut BIO, from: *mut BIO) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let (to, from) = unsafe { (connection_in(to), connection_in(from)) };
        if to.is_null() || from.is_null() {
            return FAIL;
        }
        // SAFETY: the connections of BIOs exist.
        unsafe { SSL_copy_session_id(to, from) }
    }
    fn BIO_ssl_shutdown(; first: *mut BIO) -> () = () => {
        let mut bio = first;
        while !bio.is_null() {
            // SAFETY: the caller's duty: the chain exists.
            unsafe {
                if BIO_method_type(bio) == bio::TYPE_SSL {
                    let ssl = connection(bio);
                    if !ssl.is_null() {
                        SSL_shutdown(ssl);
                    }
                }
                bio = BIO_next(bio);
            }
        }
    }
}

/// The data of a BIO with a connection. Its fields are cells, because functions of the program can
/// use the BIO while one of the functions below does.
struct Data {
    /// The BIO owns a reference if it has the flag for closing.
    ssl: Cell<*mut Ssl>,
    /// The numbers of bytes and seconds after which the program requests a renegotiation, which
    /// does not happen.
    renegotiate_bytes: Cell<c_long>,
    renegotiate_seconds: Cell<c_long>,
}

/// The address of the methods. They exist as long as the process.
struct Methods(*const BIO_METHOD);

// SAFETY: the methods are not changed after they are made.
unsafe impl Send for Methods {}
// SAFETY: as for Send.
unsafe impl Sync for Methods {}

/// The methods of BIOs with a connection. NULL if memory is short.
fn method() -> *const BIO_METHOD {
    static METHODS: OnceLock<Methods> = OnceLock::new();
    let make = || {
        // SAFETY: new methods are returned, or NULL. The functions have the types that libcrypto
        // calls them with.
        unsafe {
            let methods = BIO_meth_new(bio::TYPE_SSL, c"ssl".as_ptr());
            if !methods.is_null() {
                BIO_meth_set_write_ex(methods, write);
                BIO_meth_set_read_ex(methods, read);
                BIO_meth_set_puts(methods, puts);
                BIO_meth_set_ctrl(methods, ctrl);
                BIO_meth_set_create(methods, create);
                BIO_meth_set_destroy(methods, destroy);
                BIO_meth_set_callback_ctrl(methods, callback_ctrl);
            }
            Methods(methods)
        }
    };
    METHODS.get_or_init(make).0
}

/// The connection of a BIO of this kind. NULL if it has none.
///
/// # Safety
/// The BIO exists, and is of this kind.
unsafe fn connection(bio: *mut BIO) -> *mut Ssl {
    // SAFETY: the data of such a BIO are those that `create` made, until `destroy`.
    unsafe { BIO_get_data(bio).cast::<Data>().as_ref() }
        .map_or(ptr::null_mut(), |data| data.ssl.get())
}

/// The connection of the first BIO of a chain that has one.
///
/// # Safety
/// The pointer is NULL or to a BIO.
unsafe fn connection_in(chain: *mut BIO) -> *mut Ssl {
    // SAFETY: as this function's contract.
    unsafe {
        let found = BIO_find_type(chain, bio::TYPE_SSL);
        if found.is_null() { ptr::null_mut() } else { connection(found) }
    }
}

unsafe extern "C" fn create(bio: *mut BIO) -> c_int {
    run(FAIL, || {
        let data = Data {
            ssl: Cell::new(ptr::null_mut()),
            renegotiate_bytes: Cell::new(0),
            renegotiate_seconds: Cell::new(0),
        };
        // SAFETY: libcrypto calls this for a BIO that exists. `destroy` frees the data.
        unsafe {
            BIO_set_init(bio, 0);
            BIO_set_data(bio, Box::into_raw(Box::new(data)).cast());
            BIO_clear_flags(bio, !0);
        }
        Some(OK)
    })
}

unsafe extern "C" fn destroy(bio: *mut BIO) -> c_int {
    run(FAIL, || {
        if bio.is_null() {
            return None;
        }
        // SAFETY: libcrypto calls this once for a BIO that `create` has prepared, and `SET_SSL`
        // does so before it prepares the BIO again. With the flag for closing, the BIO owns a
        // reference to the connection.
        unsafe {
            let ssl = connection(bio);
            if BIO_get_shutdown(bio) != 0 {
                if !ssl.is_null() && SSL_in_init(ssl) == 0 {
                    SSL_shutdown(ssl);
                }
                if BIO_get_init(bio) != 0 {
                    SSL_free(ssl);
                }
                BIO_clear_flags(bio, !0);
                BIO_set_init(bio, 0);
            }
            let data = BIO_get_data(bio).cast::<Data>();
            BIO_set_data(bio, ptr::null_mut());
            if !data.is_null() {
                drop(Box::from_raw(data));
            }
        }
        Some(OK)
    })
}

const RETRY_FLAGS: c_int = FLAG_READ | FLAG_WRITE | FLAG_IO_SPECIAL | FLAG_SHOULD_RETRY;

unsafe extern "C" fn read(bio: *mut BIO, to: *mut c_char, size: usize, count: *mut usize) -> c_int {
    run(-1, || {
        if to.is_null() {
            return Some(0);
        }
        // SAFETY: libcrypto passes a BIO of this kind, and memory of this size.
        unsafe {
            let out = room(to.cast::<c_uchar>(), size);
            Some(transfer(bio, count, true, |ssl| ssl_io::read(ssl, out, false)))
        }
    })
}

unsafe extern "C" fn write(
    bio: *mut BIO,
    from: *const c_char,
    size: usize,
    count: *mut usize,
) -> c_int {
    run(-1, || {
        if from.is_null() {
            return Some(0);
        }
        // SAFETY: as in `read`.
        unsafe {
            let data = bytes(from.cast::<c_uchar>(), size);
            Some(transfer(bio, count, false, |ssl| ssl_io::write(ssl, data)))
        }
    })
}

/// Reads or writes, and sets the flags of the BIO by which the caller knows what to wait for.
///
/// # Safety
/// The BIO exists and is of this kind; the pointer is NULL or to a number.
unsafe fn transfer(
    bio: *mut BIO,
    count: *mut usize,
    reads: bool,
    operation: impl FnOnce(&Ssl) -> Transfer,
) -> c_int {
    // SAFETY: as this function's contract; the connection of a BIO exists.
    unsafe {
        let Some(ssl) = object(connection(bio)) else { return 0 };
        BIO_clear_flags(bio, RETRY_FLAGS);
        let (result, error) = with_error(&ssl, |ssl| match operation(ssl) {
            Transfer::Bytes(transferred) => {
                store(count, transferred);
                1
            }
            Transfer::End => 0,
            Transfer::Stopped => -1,
        });
        let (flags, reason) = match error {
            ssl_io::ERROR_WANT_READ => (FLAG_READ, 0),
            ssl_io::ERROR_WANT_WRITE => (FLAG_WRITE, 0),
            ssl_io::ERROR_WANT_X509_LOOKUP => (FLAG_IO_SPECIAL, bio::RETRY_REASON_LOOKUP),
            ssl_io::ERROR_WANT_CONNECT => (FLAG_IO_SPECIAL, bio::RETRY_REASON_CONNECT),
            // As in OpenSSL, not of a write.
            ssl_io::ERROR_WANT_ACCEPT if reads => (FLAG_IO_SPECIAL, bio::RETRY_REASON_ACCEPT),
            _ => (0, 0),
        };
        if flags != 0 {
            BIO_set_flags(bio, flags | FLAG_SHOULD_RETRY);
        }
        BIO_set_retry_reason(bio, reason);
        result
    }
}

/// Runs an operation of the connection. Returns its result, and what that means.
fn with_error(ssl: &Arc<Ssl>, operation: impl FnOnce(&Ssl) -> c_int) -> (c_int, c_int) {
    let _entered = Entered::new(&**ssl);
    let result = operation(ssl);
    (result, ssl_io::error_of(ssl, result))
}

unsafe extern "C" fn puts(bio: *mut BIO, from: *const c_char) -> c_int {
    // SAFETY: libcrypto passes a text.
    let Some(text) = (unsafe { text(from) }) else { return 0 };
    let length = c_int::try_from(text.count_bytes()).unwrap_or(c_int::MAX);
    // SAFETY: the BIO exists, and the text has this length.
    unsafe { BIO_write(bio, from.cast(), length) }
}

unsafe extern "C" fn ctrl(
    bio: *mut BIO,
    command: c_int,
    number: c_long,
    pointer: *mut c_void,
) -> c_long {
    // SAFETY: libcrypto passes a BIO of this kind, and the program what the command needs.
    run(0, || Some(unsafe { command_of(bio, command, number, pointer) }))
}

/// # Safety
/// The BIO exists and is of this kind; the type of the pointer depends on the command.
unsafe fn command_of(
    bio: *mut BIO,
    command: c_int,
    number: c_long,
    pointer: *mut c_void,
) -> c_long {
    // SAFETY: as this function's contract; the connection of a BIO exists, and so do its BIOs and
    // the next one.
    unsafe {
        let ssl = connection(bio);
        if command == bio::SET_SSL {
            return set_connection(bio, number, pointer.cast());
        }
        let data = BIO_get_data(bio).cast::<Data>();
        let (false, Some(data)) = (ssl.is_null(), data.as_ref()) else { return 0 };
        let next = BIO_next(bio);
        match command {
            bio::CTRL_RESET => reset(ssl, next, number, pointer),
            bio::CTRL_INFO | bio::CTRL_SET_CALLBACK => 0,
            bio::SSL_MODE => {
                set_side(ssl, number != 0);
                1
            }
            bio::SET_SSL_RENEGOTIATE_TIMEOUT => {
                data.renegotiate_seconds.replace(if number < 60 { 5 } else { number })
            }
            bio::SET_SSL_RENEGOTIATE_BYTES => {
                let old = data.renegotiate_bytes.get();
                if number >= 512 {
                    data.renegotiate_bytes.set(number);
                }
                old
            }
            bio::GET_SSL_NUM_RENEGOTIATES => 0,
            bio::GET_SSL if pointer.is_null() => 0,
            bio::GET_SSL => {
                store(pointer.cast::<*mut Ssl>(), ssl);
                1
            }
            bio::CTRL_GET_CLOSE => BIO_get_shutdown(bio).into(),
            bio::CTRL_SET_CLOSE => {
                BIO_set_shutdown(bio, c_int::from(number != 0));
                1
            }
            bio::CTRL_WPENDING => BIO_ctrl(SSL_get_wbio(ssl), command, number, pointer),
            bio::CTRL_PENDING => match SSL_pending(ssl) {
                0 => BIO_ctrl(SSL_get_rbio(ssl), command, 0, ptr::null_mut()),
                pending => pending.into(),
            },
            bio::CTRL_FLUSH => {
                BIO_clear_flags(bio, RETRY_FLAGS);
                let result = BIO_ctrl(SSL_get_wbio(ssl), command, number, pointer);
                BIO_copy_next_retry(bio);
                result
            }
            bio::CTRL_PUSH => {
                if !next.is_null() && next != SSL_get_rbio(ssl) {
                    // The connection and the chain have a reference each.
                    BIO_up_ref(next);
                    SSL_set_bio(ssl, next, next);
                }
                1
            }
            bio::CTRL_POP => {
                if pointer == bio.cast() {
                    SSL_set_bio(ssl, ptr::null_mut(), ptr::null_mut());
                }
                1
            }
            bio::DO_STATE_MACHINE => continue_handshake(bio, ssl, next),
            bio::CTRL_DUP => {
                errors::push_unsupported("BIO_dup_chain needs SSL_dup, which is not supported");
                0
            }
            _ => BIO_ctrl(SSL_get_rbio(ssl), command, number, pointer),
        }
    }
}

/// # Safety
/// The connection exists.
unsafe fn set_side(ssl: *mut Ssl, is_client: bool) {
    // SAFETY: as this function's contract.
    unsafe {
        if is_client {
            SSL_set_connect_state(ssl);
        } else {
            SSL_set_accept_state(ssl);
        }
    }
}

/// Closes a connection, and prepares it and the BIOs below for another one.
///
/// # Safety
/// The connection exists, and so does the next BIO unless it is NULL.
unsafe fn reset(ssl: *mut Ssl, next: *mut BIO, number: c_long, pointer: *mut c_void) -> c_long {
    // SAFETY: as this function's contract.
    unsafe {
        SSL_shutdown(ssl);
        let side = object(ssl).and_then(|ssl| {
            let _entered = Entered::new(&*ssl);
            ssl.side.get()
        });
        if let Some(side) = side {
            set_side(ssl, side == Side::Client);
        }
        if SSL_clear(ssl) == 0 {
            return 0;
        }
        let below = if next.is_null() { SSL_get_rbio(ssl) } else { next };
        if below.is_null() { 1 } else { BIO_ctrl(below, bio::CTRL_RESET, number, pointer) }
    }
}

/// Gives a BIO a connection, and its chain the BIO of the connection.
///
/// # Safety
/// The BIO exists and is of this kind; the pointer is NULL or to a connection, of which the program
/// passes a reference on if `close` is not 0.
unsafe fn set_connection(bio: *mut BIO, close: c_long, ssl: *mut Ssl) -> c_long {
    // SAFETY: as this function's contract.
    unsafe {
        if !connection(bio).is_null() {
            destroy(bio);
            if create(bio) == 0 {
                return 0;
            }
        }
        BIO_set_shutdown(bio, c_int::from(close != 0));
        let Some(data) = BIO_get_data(bio).cast::<Data>().as_ref() else { return 0 };
        data.ssl.set(ssl);
        let own = SSL_get_rbio(ssl);
        if !own.is_null() {
            let next = BIO_next(bio);
            if !next.is_null() {
                BIO_push(own, next);
            }
            BIO_set_next(bio, own);
            BIO_up_ref(own);
        }
        BIO_set_init(bio, 1);
    }
    1
}

/// # Safety
/// The BIO exists and is of this kind, with this connection and this next BIO, which may be NULL.
unsafe fn continue_handshake(bio: *mut BIO, ssl: *mut Ssl, next: *mut BIO) -> c_long {
    // SAFETY: as this function's contract.
    unsafe {
        let Some(ssl) = object(ssl) else { return 0 };
        BIO_clear_flags(bio, RETRY_FLAGS);
        BIO_set_retry_reason(bio, 0);
        let address = Arc::as_ptr(&ssl).cast_mut();
        let (result, error) = with_error(&ssl, |_| SSL_do_handshake(address));
        let (flags, reason) = match error {
            ssl_io::ERROR_WANT_READ => (FLAG_READ, 0),
            ssl_io::ERROR_WANT_WRITE => (FLAG_WRITE, 0),
            ssl_io::ERROR_WANT_CONNECT if next.is_null() => {
                (FLAG_IO_SPECIAL, bio::RETRY_REASON_CONNECT)
            }
            ssl_io::ERROR_WANT_CONNECT => (FLAG_IO_SPECIAL, BIO_get_retry_reason(next)),
            ssl_io::ERROR_WANT_X509_LOOKUP => (FLAG_IO_SPECIAL, bio::RETRY_REASON_LOOKUP),
            _ => (0, 0),
        };
        if flags != 0 {
            BIO_set_flags(bio, flags | FLAG_SHOULD_RETRY);
            BIO_set_retry_reason(bio, reason);
        }
        result.into()
    }
}

unsafe extern "C" fn callback_ctrl(
    bio: *mut BIO,
    command: c_int,
    callback: InfoCallback,
) -> c_long {
    run(0, || {
        // SAFETY: libcrypto passes a BIO of this kind, and the program a function for this command.
        unsafe {
            let ssl = connection(bio);
            if command != bio::CTRL_SET_CALLBACK || ssl.is_null() {
                return None;
            }
            Some(BIO_callback_ctrl(SSL_get_rbio(ssl), command, callback))
        }
    })
}
