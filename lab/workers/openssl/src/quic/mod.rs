//! Handshakes over QUIC with SSL_set_quic_tls_cbs(3), which OpenSSL has since 3.5 for
//! implementations of QUIC by others.
//!
//! OpenSSL has the handshake only on this interface; packets are protected by the implementation
//! that uses it. For the comparison with libraries that implement quinn's traits, the worker makes
//! all keys that those give to quinn (`keys.rs`).

mod alpn;
mod keys;

use std::cell::RefCell;
use std::ffi::{CString, c_int, c_void};
use std::{mem, ptr, slice};

use foreign_types::ForeignType;
use lab_quic::{HandshakeOnly, Keyring, Kind, PARAMETERS, QuicHandshake, append};
use lab_scenario::{About, Files, Library, PrepareError, Result, Row, Suite, Transport};
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext};
use openssl_sys as ffi;

use crate::connection::{ask_for, create};
use crate::{OpenSsl, client_session, configuration, session};
use keys::OpenSslKeys;

/// OpenSSL, configured for a row over QUIC.
pub(crate) struct Quic {
    client: SslContext,
    server: SslContext,
    host: &'static str,
    name: CString,
    suite: Suite,
    resumes: bool,
}

impl Library for Quic {
    type Client = HandshakeOnly<Handshake<true>>;
    type Server = HandshakeOnly<Handshake<false>>;

    const TRANSPORT: Transport = Transport::Quic;

    fn about() -> About {
        OpenSsl::about()
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        lab_quic::can(row)?;
        client_session::keep(None);
        let client = configuration::client(row, files)?;
        let server = configuration::server(row, files)?;
        alpn::set(&client, &server)?;
        let (host, suite, resumes) = (files.server_name(), row.suite, row.resumption.is_some());
        Ok(Self { client, server, host, name: CString::new(host)?, suite, resumes })
    }

    fn client(&self) -> Result<Self::Client> {
        client_session::reset_received();
        let mut ssl = create(&self.client)?;
        ask_for(&mut ssl, self.host, &self.name, true)?;
        if let Some(session) = client_session::take().filter(|_| self.resumes) {
            // SAFETY: the session is from a connection of the same context.
            unsafe { ssl.set_session(&session)? };
        }
        Ok(HandshakeOnly::new(Handshake::new(ssl, self.suite)?))
    }

    fn server(&self) -> Result<Self::Server> {
        session::reset_issued();
        let ssl = create(&self.server)?;
        // SAFETY: the connection is valid.
        unsafe { ffi::SSL_set_accept_state(ssl.as_ptr()) };
        Ok(HandshakeOnly::new(Handshake::new(ssl, self.suite)?))
    }
}

/// One end of a handshake.
pub(crate) struct Handshake<const CLIENT: bool> {
    // Before the state, to which it has a pointer.
    ssl: Ssl,
    state: Box<RefCell<State>>,
    connected: bool,
}

/// What the callbacks receive.
struct State {
    suite: Suite,
    /// The level of the secret for sending that was given last, which is that of sent data.
    level: Kind,
    sent: Vec<(Kind, Vec<u8>)>,
    /// Received data, and the number of bytes that the library has taken.
    received: Vec<u8>,
    taken: usize,
    has_parameters: bool,
    keys: Keyring<OpenSslKeys>,
}

impl<const CLIENT: bool> Handshake<CLIENT> {
    /// The connection knows whether it is a client, on which its extensions depend.
    fn new(ssl: Ssl, suite: Suite) -> Result<Self> {
        let state = Box::new(RefCell::new(State {
            suite,
            level: Kind::Initial,
            sent: Vec::new(),
            received: Vec::new(),
            taken: 0,
            has_parameters: false,
            keys: Keyring::new(CLIENT)?,
        }));
        let (connection, parameters) = (ssl.as_ptr(), PARAMETERS);
        // SAFETY: the connection is valid. The state lives as long as the connection, and it does
        // not move. The functions have the types that belong to their numbers, and the list ends
        // with 0. The parameters live as long as the process.
        let set = unsafe {
            let state = ptr::from_ref(&*state).cast_mut().cast();
            let length = parameters.len();
            [
                SSL_set_quic_tls_cbs(connection, FUNCTIONS.0.as_ptr(), state),
                SSL_set_quic_tls_transport_params(connection, parameters.as_ptr(), length),
            ]
        };
        if set != [1; 2] {
            return Err(ErrorStack::get().into());
        }
        Ok(Self { ssl, state, connected: false })
    }

    fn go_on(&mut self) -> Result<()> {
        // SAFETY: the connection is valid.
        let result = unsafe { ffi::SSL_do_handshake(self.ssl.as_ptr()) };
        if result == 1 {
            self.connected = true;
            self.state.borrow_mut().keys.confirm();
            return Ok(());
        }
        self.wants_more(result)
    }

    fn wants_more(&self, result: c_int) -> Result<()> {
        // SAFETY: `result` is that of the last call for this connection.
        match unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), result) } {
            ffi::SSL_ERROR_WANT_READ => Ok(()),
            code => Err(format!("SSL_get_error {code}: {}", ErrorStack::get()).into()),
        }
    }
}

impl<const CLIENT: bool> QuicHandshake for Handshake<CLIENT> {
    const CLIENT: bool = CLIENT;

    fn start(&mut self) -> Result<()> {
        self.go_on()
    }

    fn receive(&mut self, _: Kind, data: &[u8]) -> Result<()> {
        {
            let mut state = self.state.borrow_mut();
            if state.taken != state.received.len() {
                return Err("data was left".into());
            }
            state.received.clear();
            state.received.extend_from_slice(data);
            state.taken = 0;
        }
        if !self.connected {
            return self.go_on();
        }
        let (mut byte, mut length) = ([0_u8; 1], 0);
        // SAFETY: the connection is valid, and the buffer has the given length.
        let result = unsafe {
            let buffer = byte.as_mut_ptr().cast();
            ffi::SSL_read_ex(self.ssl.as_ptr(), buffer, byte.len(), &raw mut length)
        };
        self.wants_more(result)
    }

    fn take_sent(&mut self) -> Vec<(Kind, Vec<u8>)> {
        mem::take(&mut self.state.borrow_mut().sent)
    }

    fn is_resumed(&self) -> Result<bool> {
        let state = self.state.borrow();
        if !self.connected || !state.keys.is_complete() || !state.has_parameters {
            return Err("not connected".into());
        }
        Ok(self.ssl.session_reused())
    }
}

/// The functions that OpenSSL calls.
struct Functions([Dispatch; 7]);

/// `OSSL_DISPATCH` of <openssl/core.h>.
#[repr(C)]
struct Dispatch {
    number: c_int,
    function: *const c_void,
}

// SAFETY: the pointers are those of functions.
unsafe impl Sync for Functions {}

impl<const CLIENT: bool> Drop for Handshake<CLIENT> {
    fn drop(&mut self) {
        // QUIC has no close_notify. Without this, OpenSSL makes the session unusable.
        // SAFETY: the connection is valid.
        unsafe { ffi::SSL_set_shutdown(self.ssl.as_ptr(), ffi::SSL_SENT_SHUTDOWN) };
    }
}

static FUNCTIONS: Functions = {
    // The numbers are those of <openssl/core_dispatch.h>.
    const fn entry(number: c_int, function: *const c_void) -> Dispatch {
        Dispatch { number, function }
    }
    Functions([
        entry(2001, send as *const c_void),
        entry(2002, receive as *const c_void),
        entry(2003, release as *const c_void),
        entry(2004, yield_secret as *const c_void),
        entry(2005, got_parameters as *const c_void),
        entry(2006, alert as *const c_void),
        entry(0, ptr::null()),
    ])
};

// Functions of <openssl/ssl.h> that openssl-sys lacks.
unsafe extern "C" {
    fn SSL_set_quic_tls_cbs(
        ssl: *mut ffi::SSL,
        functions: *const Dispatch,
        argument: *mut c_void,
    ) -> c_int;
    fn SSL_set_quic_tls_transport_params(
        ssl: *mut ffi::SSL,
        parameters: *const u8,
        length: usize,
    ) -> c_int;
}

/// The state of a connection.
///
/// # Safety
/// The pointer is the argument that [`Handshake::new`] has set, and the result is not used after
/// the callback.
unsafe fn state<'s>(argument: *mut c_void) -> &'s RefCell<State> {
    // SAFETY: the state lives as long as the connection.
    unsafe { &*argument.cast() }
}

unsafe extern "C" fn send(
    _: *mut ffi::SSL,
    data: *const u8,
    length: usize,
    consumed: *mut usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the library passes data of this length, and `consumed` can be written.
    let (mut state, data) = unsafe {
        *consumed = length;
        (state(argument).borrow_mut(), slice::from_raw_parts(data, length))
    };
    let level = state.level;
    append(&mut state.sent, level, data);
    1
}

unsafe extern "C" fn receive(
    _: *mut ffi::SSL,
    data: *mut *const u8,
    length: *mut usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: both outputs can be written. The data is not changed before `release`.
    unsafe {
        let state = state(argument).borrow();
        let rest = state.received.get(state.taken..).unwrap_or_default();
        (*data, *length) = (rest.as_ptr(), rest.len());
    }
    1
}

unsafe extern "C" fn release(_: *mut ffi::SSL, length: usize, argument: *mut c_void) -> c_int {
    // SAFETY: see `state`.
    unsafe { state(argument) }.borrow_mut().taken += length;
    1
}

unsafe extern "C" fn yield_secret(
    _: *mut ffi::SSL,
    level: u32,
    direction: c_int,
    secret: *const u8,
    length: usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the library passes a secret of this length.
    let (mut state, secret) =
        unsafe { (state(argument).borrow_mut(), slice::from_raw_parts(secret, length)) };
    // OSSL_RECORD_PROTECTION_LEVEL_HANDSHAKE and _APPLICATION, and OSSL_RECORD_DIRECTION_WRITE.
    let level = match level {
        2 => Kind::Handshake,
        3 => Kind::Application,
        _ => return 0,
    };
    let (suite, sends) = (state.suite, direction == 1);
    let added = state.keys.add(level, suite, secret, sends);
    if sends {
        state.level = level;
    }
    c_int::from(added.is_ok())
}

unsafe extern "C" fn got_parameters(
    _: *mut ffi::SSL,
    _: *const u8,
    length: usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see `state`.
    unsafe { state(argument) }.borrow_mut().has_parameters = length == PARAMETERS.len();
    1
}

unsafe extern "C" fn alert(_: *mut ffi::SSL, _: u8, _: *mut c_void) -> c_int {
    // The call that caused it fails, too.
    1
}
