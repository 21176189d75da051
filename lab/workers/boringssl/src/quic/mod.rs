//! Handshakes over QUIC with BoringSSL's `SSL_QUIC_METHOD`.
//!
//! BoringSSL has the handshake only; packets are protected by the implementation of QUIC that uses
//! it. For the comparison with libraries that implement quinn's traits, the worker makes all keys
//! that those give to quinn (`keys.rs`).

#[path = "../../../openssl/src/quic/alpn.rs"]
mod alpn;
mod keys;

use std::cell::RefCell;
use std::ffi::{CString, c_int};
use std::sync::LazyLock;
use std::{mem, ptr};

use boring::error::ErrorStack;
use boring::ssl::{Ssl, SslContext};
use boring_sys as ffi;
use foreign_types::ForeignType;
use lab_quic::{HandshakeOnly, Keyring, Kind, PARAMETERS, QuicHandshake, append};
use lab_scenario::{About, Files, Library, PrepareError, Result, Row, Suite, Transport};

use crate::connection::{ask_for, create};
use crate::{BoringSsl, client_session, configuration};
use keys::BoringSslKeys;

/// BoringSSL, configured for a row over QUIC.
pub(crate) struct Quic {
    client: SslContext,
    server: SslContext,
    host: &'static str,
    name: CString,
    resumes: bool,
}

impl Library for Quic {
    type Client = HandshakeOnly<Handshake<true>>;
    type Server = HandshakeOnly<Handshake<false>>;

    const TRANSPORT: Transport = Transport::Quic;

    fn about() -> About {
        BoringSsl::about()
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        lab_quic::can(row)?;
        configuration::can(row)?;
        client_session::keep(None);
        let client = configuration::client(row, files)?;
        let server = configuration::server(row, files)?;
        alpn::set(&client, &server)?;
        // SAFETY: no other code uses the contexts yet, and the methods live as long as the process.
        let set = unsafe {
            [&client, &server]
                .map(|context| ffi::SSL_CTX_set_quic_method(context.as_ptr(), &raw const METHOD))
        };
        if set != [1; 2] {
            return Err(ErrorStack::get().into());
        }
        let (host, resumes) = (files.server_name(), row.resumption.is_some());
        Ok(Self { client, server, host, name: CString::new(host)?, resumes })
    }

    fn client(&self) -> Result<Self::Client> {
        client_session::reset_received();
        let mut end = Handshake::new(&self.client)?;
        ask_for(&mut end.ssl, self.host, &self.name, true)?;
        if let Some(session) = client_session::take().filter(|_| self.resumes) {
            // SAFETY: the session is from a connection of the same context.
            unsafe { end.ssl.set_session(&session)? };
        }
        Ok(HandshakeOnly::new(end))
    }

    fn server(&self) -> Result<Self::Server> {
        let end = Handshake::new(&self.server)?;
        // SAFETY: the connection is valid.
        unsafe { ffi::SSL_set_accept_state(end.ssl.as_ptr()) };
        Ok(HandshakeOnly::new(end))
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
    sent: Vec<(Kind, Vec<u8>)>,
    keys: Keyring<BoringSslKeys>,
}

impl<const CLIENT: bool> Handshake<CLIENT> {
    fn new(context: &SslContext) -> Result<Self> {
        let ssl = create(context)?;
        let (sent, keys) = (Vec::new(), Keyring::new(CLIENT)?);
        let state = Box::new(RefCell::new(State { sent, keys }));
        let (connection, parameters) = (ssl.as_ptr(), PARAMETERS);
        // SAFETY: the connection is valid. The state lives as long as the connection, and it does
        // not move. The library copies the parameters.
        let set = unsafe {
            let state = ptr::from_ref(&*state).cast_mut().cast();
            let length = parameters.len();
            [
                ffi::SSL_set_ex_data(connection, *STATE, state),
                ffi::SSL_set_quic_transport_params(connection, parameters.as_ptr(), length),
            ]
        };
        if set != [1; 2] {
            return Err(ErrorStack::get().into());
        }
        Ok(Self { ssl, state, connected: false })
    }

    fn go_on(&mut self) -> Result<()> {
        let ssl = self.ssl.as_ptr();
        // SAFETY: the connection is valid.
        let result = unsafe { ffi::SSL_do_handshake(ssl) };
        if result == 1 {
            self.connected = true;
            self.state.borrow_mut().keys.confirm();
            return Ok(());
        }
        // SAFETY: `result` is that of the last call for this connection.
        match unsafe { ffi::SSL_get_error(ssl, result) } {
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

    fn receive(&mut self, kind: Kind, data: &[u8]) -> Result<()> {
        let (ssl, level) = (self.ssl.as_ptr(), level(kind)?);
        // SAFETY: the connection is valid, and the data has the given length.
        if unsafe { ffi::SSL_provide_quic_data(ssl, level, data.as_ptr(), data.len()) } != 1 {
            return Err(ErrorStack::get().into());
        }
        if !self.connected {
            return self.go_on();
        }
        // SAFETY: the connection is valid.
        match unsafe { ffi::SSL_process_quic_post_handshake(ssl) } {
            1 => Ok(()),
            _ => Err(ErrorStack::get().into()),
        }
    }

    fn take_sent(&mut self) -> Vec<(Kind, Vec<u8>)> {
        mem::take(&mut self.state.borrow_mut().sent)
    }

    fn is_resumed(&self) -> Result<bool> {
        if !self.connected || !self.state.borrow().keys.is_complete() {
            return Err("not connected".into());
        }
        let (mut parameters, mut length) = (ptr::null(), 0);
        // SAFETY: the connection is valid, and both outputs can be written.
        unsafe {
            ffi::SSL_get_peer_quic_transport_params(
                self.ssl.as_ptr(),
                &raw mut parameters,
                &raw mut length,
            );
        }
        if length != PARAMETERS.len() {
            return Err(format!("{length} bytes of transport parameters").into());
        }
        Ok(self.ssl.session_reused())
    }
}

static METHOD: ffi::SSL_QUIC_METHOD = ffi::SSL_QUIC_METHOD {
    set_read_secret: Some(set_secret),
    set_write_secret: Some(set_secret),
    add_handshake_data: Some(add_handshake_data),
    flush_flight: Some(flush_flight),
    send_alert: Some(send_alert),
};

/// The index of the pointer to a connection's state.
static STATE: LazyLock<c_int> = LazyLock::new(|| {
    // SAFETY: the arguments may be null.
    unsafe { ffi::SSL_get_ex_new_index(0, ptr::null_mut(), ptr::null_mut(), None, None) }
});

/// The state of a connection.
///
/// # Safety
/// The connection is that of a [`Handshake`], and the result is not used after the callback.
unsafe fn state<'s>(ssl: *mut ffi::SSL) -> &'s RefCell<State> {
    // SAFETY: `Handshake::new` has set the pointer, and the state lives as long as the connection.
    unsafe { &*ffi::SSL_get_ex_data(ssl, *STATE).cast() }
}

fn level(kind: Kind) -> Result<ffi::ssl_encryption_level_t> {
    match kind {
        Kind::Initial => Ok(ffi::ssl_encryption_level_t::ssl_encryption_initial),
        Kind::Handshake => Ok(ffi::ssl_encryption_level_t::ssl_encryption_handshake),
        Kind::Application => Ok(ffi::ssl_encryption_level_t::ssl_encryption_application),
        Kind::EarlyPacket | Kind::Packet => Err("a packet in a handshake".into()),
    }
}

fn kind(level: ffi::ssl_encryption_level_t) -> Option<Kind> {
    [Kind::Initial, Kind::Handshake, Kind::Application]
        .into_iter()
        .find(|kind| self::level(*kind).is_ok_and(|each| each == level))
}

unsafe extern "C" fn set_secret(
    ssl: *mut ffi::SSL,
    level: ffi::ssl_encryption_level_t,
    cipher: *const ffi::SSL_CIPHER,
    secret: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: the library passes a valid connection, cipher and secret of this length.
    let (state, suite, secret) = unsafe {
        let suite = ffi::SSL_CIPHER_get_protocol_id(cipher);
        (state(ssl), suite, std::slice::from_raw_parts(secret, length))
    };
    let (Some(kind), Some(suite)) = (kind(level), Suite::of_number(suite)) else { return 0 };
    // A key of BoringSSL both seals and opens.
    c_int::from(state.borrow_mut().keys.add(kind, suite, secret, true).is_ok())
}

unsafe extern "C" fn add_handshake_data(
    ssl: *mut ffi::SSL,
    level: ffi::ssl_encryption_level_t,
    data: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: the library passes a valid connection, and data of this length.
    let (state, data) = unsafe { (state(ssl), std::slice::from_raw_parts(data, length)) };
    let Some(kind) = kind(level) else { return 0 };
    append(&mut state.borrow_mut().sent, kind, data);
    1
}

unsafe extern "C" fn flush_flight(_: *mut ffi::SSL) -> c_int {
    1
}

unsafe extern "C" fn send_alert(_: *mut ffi::SSL, _: ffi::ssl_encryption_level_t, _: u8) -> c_int {
    // The call that caused it fails, too.
    1
}
