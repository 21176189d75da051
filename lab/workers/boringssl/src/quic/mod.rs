//! Handshakes over QUIC with BoringSSL's `SSL_QUIC_METHOD`.
//!
//! BoringSSL has the handshake only; packets are protected by the implementation of QUIC that uses
//! it. For the comparison with libraries that implement quinn's traits, the worker makes all keys
//! that those give to quinn (`keys.rs`).

mod keys;

use std::cell::RefCell;
use std::ffi::{CString, c_int, c_void};
use std::sync::LazyLock;
use std::{mem, ptr};

use boring::error::ErrorStack;
use boring::ssl::{Ssl, SslContext};
use boring_sys as ffi;
use foreign_types::ForeignType;
use lab_quic::{ALPN, FIRST_ID, HandshakeOnly, Kind, PARAMETERS, QuicHandshake};
use lab_scenario::{About, Files, Library, PrepareError, Result, Row, Suite, Transport};

use crate::connection::{ask_for, create};
use crate::{BoringSsl, client_session, configuration};
use keys::{Direction, PacketKey};

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
        let protocols = [&[u8::try_from(ALPN.len())?], ALPN.as_bytes()].concat();
        // SAFETY: no other code uses the contexts yet. The methods live as long as the process, and
        // the list has the given length.
        let set = unsafe {
            ffi::SSL_CTX_set_alpn_select_cb(server.as_ptr(), Some(select), ptr::null_mut());
            [
                ffi::SSL_CTX_set_quic_method(client.as_ptr(), &raw const METHOD),
                ffi::SSL_CTX_set_quic_method(server.as_ptr(), &raw const METHOD),
                // This function returns 0 if it succeeds.
                1 - ffi::SSL_CTX_set_alpn_protos(
                    client.as_ptr(),
                    protocols.as_ptr(),
                    protocols.len(),
                ),
            ]
        };
        if set != [1; 3] {
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
#[derive(Default)]
struct State {
    sent: Vec<(Kind, Vec<u8>)>,
    initial: Option<[Direction; 2]>,
    handshake: Vec<Direction>,
    application: Vec<Direction>,
    next: Vec<PacketKey>,
}

impl<const CLIENT: bool> Handshake<CLIENT> {
    fn new(context: &SslContext) -> Result<Self> {
        let ssl = create(context)?;
        let initial = Some(keys::initial(&FIRST_ID)?);
        let state = Box::new(RefCell::new(State { initial, ..State::default() }));
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
            // An implementation of QUIC discards them when the handshake is confirmed.
            let mut state = self.state.borrow_mut();
            (state.initial, state.handshake) = (None, Vec::new());
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
        let state = self.state.borrow();
        let keys = [state.application.len(), state.next.len()];
        if !self.connected || keys != [2; 2] {
            return Err(format!("not connected, with {keys:?} keys").into());
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
    let add = || -> Option<()> {
        let (kind, suite) = (kind(level)?, Suite::of_number(suite)?);
        let direction = Direction::new(suite, secret).ok()?;
        let mut state = state.borrow_mut();
        if kind == Kind::Handshake {
            state.handshake.push(direction);
        } else {
            state.application.push(direction);
            state.next.push(PacketKey::of_next_phase(suite, secret).ok()?);
        }
        Some(())
    };
    c_int::from(add().is_some())
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
    let sent = &mut state.borrow_mut().sent;
    match sent.last_mut() {
        Some((last, bytes)) if *last == kind => bytes.extend_from_slice(data),
        _ => sent.push((kind, data.to_vec())),
    }
    1
}

unsafe extern "C" fn flush_flight(_: *mut ffi::SSL) -> c_int {
    1
}

unsafe extern "C" fn send_alert(_: *mut ffi::SSL, _: ffi::ssl_encryption_level_t, _: u8) -> c_int {
    // The call that caused it fails, too.
    1
}

/// Selects the protocol of both sides.
unsafe extern "C" fn select(
    _: *mut ffi::SSL,
    selected: *mut *const u8,
    length: *mut u8,
    _: *const u8,
    _: std::ffi::c_uint,
    _: *mut c_void,
) -> c_int {
    // SAFETY: both outputs can be written.
    unsafe {
        *selected = ALPN.as_ptr();
        *length = u8::try_from(ALPN.len()).unwrap_or(0);
    }
    ffi::SSL_TLSEXT_ERR_OK
}
