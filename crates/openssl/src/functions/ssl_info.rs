//! SSL: what was negotiated.

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use core::ptr;

use tercel::message_tap::Direction;

use super::{FAIL, OK, bytes, room, store};
use crate::ciphers::suite::Cipher;
use crate::connection::Ssl;
use crate::connection::state::{Side, Stage};
use crate::entry::functions;
use crate::errors;
use crate::session::Session;
use std::sync::Arc;

const ST_BEFORE: c_int = 0;
/// The client waits for the ServerHello, the server for the ClientHello: `ssl.h`.
const ST_CLIENT: c_int = 3;
const ST_SERVER: c_int = 20;

/// The result of `SSL_export_keying_material` before the end of a handshake.
const NO_SECRET: c_int = -1;

functions! {
    fn SSL_version(ssl: &Ssl;) -> c_int = 0 => {
        ssl.version()
    }
    /// The version field of the ClientHello, which is that of TLS 1.2 in TLS 1.3, too.
    fn SSL_client_version(ssl: &Ssl;) -> c_int = 0 => {
        ssl.version().min(crate::method::TLS1_2)
    }
    fn SSL_get_version(ssl: &Ssl;) -> *const c_char = c"unknown".as_ptr() => {
        super::ssl_ctrl::version_text(ssl.version()).as_ptr()
    }
    fn SSL_is_dtls(ssl: &Ssl;) -> c_int = 0 => {
        ssl.settings().method.is_datagram.into()
    }
    fn SSL_get_current_cipher(ssl: &Ssl;) -> *const Cipher = ptr::null() => {
        ssl.cipher().map_or(ptr::null(), ptr::from_ref)
    }
    fn SSL_get_pending_cipher(ssl: &Ssl;) -> *const Cipher = ptr::null() => {
        ssl.cipher().map_or(ptr::null(), ptr::from_ref)
    }
    fn SSL_get_state(ssl: &Ssl;) -> c_int = ST_BEFORE => {
        state(ssl)
    }
    fn SSL_is_init_finished(ssl: &Ssl;) -> c_int = 0 => {
        ssl.is_init_finished().into()
    }
    fn SSL_in_init(ssl: &Ssl;) -> c_int = 1 => {
        (!ssl.is_init_finished()).into()
    }
    fn SSL_in_before(ssl: &Ssl;) -> c_int = 0 => {
        matches!(*ssl.stage.borrow(), Stage::New).into()
    }
    fn SSL_state_string_long(ssl: &Ssl;) -> *const c_char = c"unknown state".as_ptr() => {
        ssl.state_text().as_ptr()
    }
    fn SSL_state_string(ssl: &Ssl;) -> *const c_char = c"UNKWN ".as_ptr() => {
        ssl.short_state_text().as_ptr()
    }
    fn SSL_rstate_string_long(_ssl: &Ssl;) -> *const c_char = c"unknown".as_ptr() => {
        c"read header".as_ptr()
    }
    fn SSL_rstate_string(_ssl: &Ssl;) -> *const c_char = c"UK".as_ptr() => {
        c"RH".as_ptr()
    }
    fn SSL_get_client_random(ssl: &Ssl; to: *mut c_uchar, length: usize) -> usize = 0 => {
        let values = ssl.values.borrow();
        let random = values.as_ref().and_then(|values| values.client_random());
        // SAFETY: the caller's duty, here and below.
        unsafe { copy_random(random, to, length) }
    }
    fn SSL_get_server_random(ssl: &Ssl; to: *mut c_uchar, length: usize) -> usize = 0 => {
        let values = ssl.values.borrow();
        let random = values.as_ref().and_then(|values| values.server_random());
        // SAFETY: as above.
        unsafe { copy_random(random, to, length) }
    }
    fn SSL_get_finished(ssl: &Ssl; to: *mut c_void, length: usize) -> usize = 0 => {
        // SAFETY: as above.
        unsafe { copy_finished(ssl, Direction::Sent, to, length) }
    }
    fn SSL_get_peer_finished(ssl: &Ssl; to: *mut c_void, length: usize) -> usize = 0 => {
        // SAFETY: as above.
        unsafe { copy_finished(ssl, Direction::Received, to, length) }
    }
    fn SSL_session_reused(ssl: &Ssl;) -> c_int = 0 => {
        ssl.with_info(|info| info.resumed.into()).unwrap_or(0)
    }
    fn SSL_get_session(ssl: &Ssl;) -> *mut Session = ptr::null_mut() => {
        let session = ssl.current_session();
        session.map_or(ptr::null_mut(), |session| Arc::as_ptr(&session).cast_mut())
    }
    fn SSL_get1_session(ssl: &Ssl;) -> *mut Session = ptr::null_mut() => {
        ssl.current_session().map_or(ptr::null_mut(), crate::entry::give)
    }
    fn SSL_set_session(ssl: &Ssl; session: *mut Session) -> c_int = FAIL => {
        // SAFETY: the caller's duty. NULL removes the session.
        ssl.set_session(unsafe { crate::entry::object(session) });
        OK
    }
    fn SSL_get0_alpn_selected(ssl: &Ssl; data: *mut *const c_uchar, length: *mut c_uint) -> () = () => {
        let protocol = ssl.lent.protocol.borrow();
        let start = if protocol.is_empty() { ptr::null() } else { protocol.as_ptr() };
        // SAFETY: the caller's duty. The protocol exists until the next handshake.
        unsafe {
            store(data, start);
            store(length, c_uint::try_from(protocol.len()).unwrap_or(0));
        }
    }
    /// NPN is not supported: nothing was negotiated.
    fn SSL_get0_next_proto_negotiated(_ssl: &Ssl; data: *mut *const c_uchar, length: *mut c_uint)
        -> () = () => {
        // SAFETY: the caller's duty.
        unsafe {
            store(data, ptr::null());
            store(length, 0);
        }
    }
    fn SSL_get_servername(ssl: &Ssl; kind: c_int) -> *const c_char = ptr::null() => {
        let name = ssl.host_name.borrow();
        name.as_ref().filter(|_| kind == 0).map_or(ptr::null(), |name| name.as_ptr())
    }
    fn SSL_get_servername_type(ssl: &Ssl;) -> c_int = -1 => {
        if ssl.host_name.borrow().is_some() { 0 } else { -1 }
    }
    fn SSL_export_keying_material(ssl: &Ssl;
        out: *mut c_uchar, out_length: usize, label: *const c_char, label_length: usize,
        context: *const c_uchar, context_length: usize, use_context: c_int,
    ) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let (out, label, context) = unsafe {
            (room(out, out_length), bytes(label.cast(), label_length), bytes(context, context_length))
        };
        let context = (use_context != 0).then_some(context);
        match ssl.with_connection(|connection| connection.exporter.export(label, context, out)) {
            Some(Ok(())) => OK,
            Some(Err(error)) => {
                errors::push_error(error, None);
                FAIL
            }
            None => NO_SECRET,
        }
    }
    fn SSL_get_shared_ciphers(ssl: &Ssl; to: *mut c_char, length: c_int) -> *mut c_char = ptr::null_mut() => {
        let Some(cipher) = ssl.cipher() else { return ptr::null_mut() };
        let name = cipher.name.to_bytes_with_nul();
        // SAFETY: the caller's duty.
        let room = unsafe { room(to.cast(), length) };
        let Some(room) = room.get_mut(..name.len()) else { return ptr::null_mut() };
        room.copy_from_slice(name);
        to
    }
    fn SSL_get_peer_signature_type_nid(ssl: &Ssl; to: *mut c_int) -> c_int = FAIL => {
        let scheme = ssl.with_info(|info| info.peer_signature_scheme);
        let Some(scheme) = scheme.flatten() else { return FAIL };
        // SAFETY: the caller's duty.
        unsafe { store(to, crate::ciphers::schemes::key_nid(scheme)) };
        OK
    }
    fn SSL_get_signature_type_nid(ssl: &Ssl; to: *mut c_int) -> c_int = FAIL => {
        let scheme = ssl.with_info(|info| info.own_signature_scheme);
        let Some(scheme) = scheme.flatten() else { return FAIL };
        // SAFETY: the caller's duty.
        unsafe { store(to, crate::ciphers::schemes::key_nid(scheme)) };
        OK
    }
    fn OSSL_default_cipher_list(;) -> *const c_char = ptr::null() => {
        c"ALL:!COMPLEMENTOFDEFAULT:!eNULL".as_ptr()
    }
    fn OSSL_default_ciphersuites(;) -> *const c_char = ptr::null() => {
        c"TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256".as_ptr()
    }
    /// The name of a group whose number the library returned. NULL if it is not known.
    fn SSL_group_to_name(ssl: &Ssl; nid: c_int) -> *const c_char = ptr::null() => {
        crate::ciphers::groups::name(nid).map_or(ptr::null(), CStr::as_ptr)
    }
    /// Whether the library handles an extension itself.
    fn SSL_extension_supported(; kind: c_uint) -> c_int = 0 => {
        c_int::from(matches!(kind, 0 | 5 | 10 | 11 | 13 | 16 | 23 | 35 | 41..=45 | 47 | 49..=51 | 65281))
    }
}

/// Copies a random as far as there is room, and returns how many bytes were copied. Without room,
/// returns its length.
///
/// # Safety
/// The pointer is NULL or to as many bytes.
unsafe fn copy_random(random: Option<&[u8; 32]>, to: *mut c_uchar, length: usize) -> usize {
    const LENGTH: usize = 32;
    if length == 0 {
        return LENGTH;
    }
    // OpenSSL's is zero before it is known.
    let random = random.unwrap_or(&[0; LENGTH]);
    let copied = length.min(LENGTH);
    // SAFETY: as this function's contract.
    let room = unsafe { room(to, copied) };
    match (room.get_mut(..copied), random.get(..copied)) {
        (Some(room), Some(random)) => room.copy_from_slice(random),
        _ => return 0,
    }
    copied
}

/// Copies a Finished value as far as there is room, and returns its whole length.
///
/// # Safety
/// The pointer is NULL or to as many bytes.
unsafe fn copy_finished(ssl: &Ssl, direction: Direction, to: *mut c_void, length: usize) -> usize {
    let values = ssl.values.borrow();
    let finished = values.as_ref().and_then(|values| values.finished(direction));
    let finished = finished.unwrap_or_default();
    let copied = length.min(finished.len());
    // SAFETY: as this function's contract.
    let room = unsafe { room(to.cast(), copied) };
    if let (Some(room), Some(finished)) = (room.get_mut(..copied), finished.get(..copied)) {
        room.copy_from_slice(finished);
    }
    finished.len()
}

fn state(ssl: &Ssl) -> c_int {
    if let Some((number, _)) = ssl.state_of_new_session.get() {
        return number;
    }
    match &*ssl.stage.borrow() {
        Stage::New => ST_BEFORE,
        Stage::Connected(_) => ssl.state_of_connected().0,
        _ if ssl.message_state.get().is_some() => {
            ssl.message_state.get().map_or(ST_BEFORE, |(number, _)| number)
        }
        _ if ssl.side.get() == Some(Side::Server) => ST_SERVER,
        _ => ST_CLIENT,
    }
}
