//! SSL_SESSION.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use core::ptr;
use std::sync::Arc;

use super::{FAIL, OK, bytes, store};
use crate::ciphers::suite::Cipher;
use crate::connection::Ssl;
use crate::entry::{functions, give, take};
use crate::errors;
use crate::objects::id::Id;
use crate::session::{Session, encoding};
use crate::sys::x509::X509;

/// Copies the bytes of an ID, which may be those of the session itself. `None` if it is too long;
/// no byte is read then.
///
/// # Safety
/// `id` points to `length` bytes, or `length` is too long.
unsafe fn given_id(id: *const c_uchar, length: c_uint) -> Option<Vec<u8>> {
    let is_short = usize::try_from(length).is_ok_and(|length| length <= Id::LONGEST);
    // SAFETY: the caller's duty.
    is_short.then(|| unsafe { bytes(id, length) }.to_vec())
}

functions! {
    fn SSL_SESSION_free(; session: *mut Session) -> () = () => {
        // SAFETY: the caller's duty.
        drop(unsafe { take(session) });
    }
    fn SSL_SESSION_up_ref(session: &Session;) -> c_int = FAIL => {
        let _reference = give(Arc::clone(session));
        OK
    }
    fn SSL_SESSION_dup(session: &Session;) -> *mut Session = ptr::null_mut() => {
        let fields = session.fields().clone();
        give(Session::copied(fields, Some(session)))
    }
    fn SSL_SESSION_get_id(session: &Session; length: *mut c_uint) -> *const c_uchar = ptr::null() => {
        let fields = session.fields();
        // SAFETY: the caller's duty. The bytes exist as long as the session.
        unsafe { store(length, c_uint::try_from(fields.id.len()).unwrap_or(0)) };
        fields.id.as_ptr()
    }
    fn SSL_SESSION_set1_id(session: &Session; id: *const c_uchar, length: c_uint) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(id) = (unsafe { given_id(id, length) }) else {
            errors::push(errors::reasons::SSL_SESSION_ID_TOO_LONG);
            return FAIL;
        };
        c_int::from(session.fields().id.set(&id))
    }
    fn SSL_SESSION_get0_id_context(session: &Session; length: *mut c_uint)
        -> *const c_uchar = ptr::null() => {
        let fields = session.fields();
        // SAFETY: as in `SSL_SESSION_get_id`.
        unsafe { store(length, c_uint::try_from(fields.context.len()).unwrap_or(0)) };
        fields.context.as_ptr()
    }
    fn SSL_SESSION_set1_id_context(session: &Session; id: *const c_uchar, length: c_uint)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(id) = (unsafe { given_id(id, length) }) else {
            errors::push(errors::reasons::SSL_SESSION_ID_CONTEXT_TOO_LONG);
            return FAIL;
        };
        session.touch();
        c_int::from(session.fields().context.set(&id))
    }
    fn SSL_SESSION_get_time(session: &Session;) -> c_long = 0 => {
        session.fields().time
    }
    fn SSL_SESSION_set_time(session: &Session; time: c_long) -> c_long = 0 => {
        session.limit(|fields| fields.time = time);
        time
    }
    fn SSL_SESSION_get_timeout(session: &Session;) -> c_long = 0 => {
        session.fields().timeout
    }
    fn SSL_SESSION_set_timeout(session: &Session; timeout: c_long) -> c_long = 0 => {
        session.limit(|fields| fields.timeout = timeout);
        1
    }
    fn SSL_SESSION_get_protocol_version(session: &Session;) -> c_int = 0 => {
        session.fields().version.into()
    }
    fn SSL_SESSION_set_protocol_version(session: &Session; version: c_int) -> c_int = FAIL => {
        session.fields().version = u16::try_from(version).unwrap_or(0);
        OK
    }
    fn SSL_SESSION_get0_cipher(session: &Session;) -> *const Cipher = ptr::null() => {
        session.fields().cipher().map_or(ptr::null(), ptr::from_ref)
    }
    fn SSL_SESSION_set_cipher(session: &Session; cipher: *const Cipher) -> c_int = FAIL => {
        if cipher.is_null() {
            return FAIL;
        }
        // SAFETY: ciphers are static objects of this library: the caller's duty.
        session.fields().suite = unsafe { (*cipher).code.0 };
        OK
    }
    fn SSL_SESSION_get0_hostname(session: &Session;) -> *const c_char = ptr::null() => {
        let fields = session.fields();
        let name = fields.host_name.as_ref().filter(|name| name.ends_with(&[0]));
        name.map_or(ptr::null(), |name| name.as_ptr().cast())
    }
    fn SSL_SESSION_set1_hostname(session: &Session; name: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let name = unsafe { super::text(name) };
        session.fields().host_name = name.map(|name| name.to_bytes_with_nul().to_vec());
        OK
    }
    fn SSL_SESSION_get0_alpn_selected(session: &Session; data: *mut *const c_uchar, length: *mut usize)
        -> () = () => {
        let fields = session.fields();
        // SAFETY: as in `SSL_SESSION_get_id`.
        unsafe {
            let protocol = &fields.protocol;
            let start = if protocol.is_empty() { ptr::null() } else { protocol.as_ptr() };
            store(data, start);
            store(length, protocol.len());
        }
    }
    fn SSL_SESSION_set1_alpn_selected(session: &Session; data: *const c_uchar, length: usize)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        session.fields().protocol = unsafe { bytes(data, length) }.to_vec();
        OK
    }
    fn SSL_SESSION_get_max_early_data(session: &Session;) -> u32 = 0 => {
        session.fields().max_early_data
    }
    fn SSL_SESSION_set_max_early_data(session: &Session; bytes: u32) -> c_int = FAIL => {
        session.fields().max_early_data = bytes;
        session.touch();
        OK
    }
    fn SSL_SESSION_has_ticket(session: &Session;) -> c_int = 0 => {
        session.fields().has_ticket.into()
    }
    fn SSL_SESSION_get_ticket_lifetime_hint(session: &Session;) -> c_ulong = 0 => {
        session.fields().lifetime_hint
    }
    /// The ticket is inside of Tercel's session and is not shown.
    fn SSL_SESSION_get0_ticket(_session: &Session; data: *mut *const c_uchar, length: *mut usize)
        -> () = () => {
        // SAFETY: the caller's duty.
        unsafe {
            store(data, ptr::null());
            store(length, 0);
        }
    }
    fn SSL_SESSION_set1_ticket_appdata(session: &Session; data: *const c_void, length: usize)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let data = unsafe { bytes(data.cast(), length) }.to_vec();
        session.fields().data = data;
        session.touch();
        OK
    }
    fn SSL_SESSION_get0_ticket_appdata(session: &Session; data: *mut *mut c_void, length: *mut usize)
        -> c_int = FAIL => {
        let fields = session.fields();
        let start = if fields.data.is_empty() { ptr::null() } else { fields.data.as_ptr() };
        // SAFETY: as in `SSL_SESSION_get_id`.
        unsafe {
            store(data, start.cast_mut().cast());
            store(length, fields.data.len());
        }
        OK
    }
    fn SSL_SESSION_is_resumable(session: &Session;) -> c_int = 0 => {
        session.fields().is_resumable().into()
    }
    fn SSL_SESSION_get0_peer(session: &Session;) -> *mut X509 = ptr::null_mut() => {
        session.lent_peer()
    }
    fn SSL_SESSION_set_ex_data(session: &Session; index: c_int, value: *mut c_void) -> c_int = FAIL => {
        session.touch();
        session.ex_data.set(index, value)
    }
    fn SSL_SESSION_get_ex_data(session: &Session; index: c_int) -> *mut c_void = ptr::null_mut() => {
        // The program may change what it points to.
        session.touch();
        session.ex_data.get(index)
    }
    fn SSL_copy_session_id(to: &Ssl; from: *const Ssl) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let Some(from) = (unsafe { crate::entry::object(from) }) else { return FAIL };
        // Another thread may copy in the other direction.
        let (session, theirs) = to.outside(|| {
            let _entered = crate::entry::Entered::new(&*from);
            (from.current_session(), from.settings())
        });
        to.set_session(session);
        to.change(|settings| {
            settings.take_certificates(&theirs);
            settings.session_context.clone_from(&theirs.session_context);
        });
        OK
    }
    fn i2d_SSL_SESSION(session: &Session; to: *mut *mut c_uchar) -> c_int = 0 => {
        let encoded = encoding::encode(&session.fields());
        let length = c_int::try_from(encoded.len()).unwrap_or(0);
        if to.is_null() {
            return length;
        }
        // SAFETY: the caller's duty: NULL, or memory of the length that an earlier call returned,
        // after which the pointer is moved.
        unsafe {
            if (*to).is_null() {
                let memory = crate::sys::crypto::CRYPTO_malloc(encoded.len(), ptr::null(), 0);
                if memory.is_null() {
                    return 0;
                }
                ptr::copy_nonoverlapping(encoded.as_ptr(), memory.cast(), encoded.len());
                *to = memory.cast();
            } else {
                ptr::copy_nonoverlapping(encoded.as_ptr(), *to, encoded.len());
                *to = (*to).add(encoded.len());
            }
        }
        length
    }
    fn d2i_SSL_SESSION(; to: *mut *mut Session, from: *mut *const c_uchar, length: c_long)
        -> *mut Session = ptr::null_mut() => {
        if from.is_null() {
            errors::push_null();
            return ptr::null_mut();
        }
        // SAFETY: the caller's duty.
        let encoded = unsafe { bytes(*from, length) };
        let Some((fields, used)) = encoding::decode(encoded) else {
            errors::push_with(errors::reasons::BAD_DATA, "not a session of this library");
            return ptr::null_mut();
        };
        let session = give(Session::new(fields));
        // SAFETY: the caller's duty. An earlier session of the program is replaced.
        unsafe {
            *from = (*from).add(used);
            if !to.is_null() {
                drop(take(*to));
                *to = session;
            }
        }
        session
    }
}
