//! Worker for OpenSSL.
//!
//! The transport is a custom BIO over buffers of fixed size (BIO_meth_new(3)), with one method for
//! all connections. A memory BIO would grow and move its content, a BIO pair copies in rings, and
//! the crate `openssl` would create a method for each connection. Data is sent with `SSL_write_ex`
//! and received with `SSL_read_ex`, one record per call, without read-ahead, which moves data.
//!
//! OpenSSL moves bytes of the transport in callbacks. As with other libraries, this copying is not
//! timed. Sessions are obtained as SSL_CTX_sess_set_new_cb(3) and SSL_get_session(3) recommend. In
//! TLS 1.2, OpenSSL renews a ticket only if that is configured. This worker configures it, because
//! other libraries renew the ticket each time.
//!
//! Handshakes over QUIC are in `quic`.
//!
//! In published accounting the worker follows openssl-bench (`published.rs`, `memory.rs`).

mod client_session;
mod configuration;
mod connection;
mod context;
#[cfg(feature = "ech")]
mod ech;
mod loading;
mod memory;
mod published;
mod quic;
mod session;
mod transport;

use std::ffi::{CStr, CString, c_char, c_int};
use std::process::ExitCode;
use std::ptr;

use foreign_types::ForeignType;
use lab_quic::EitherTransport;
use lab_scenario::{
    About, Accounting, Endpoint, Files, Group, Library, LibraryWorker, LoadedObject, Material,
    Outcome, PrepareError, Program, Result, Row, Scheme, Sink, TransportBuffers, Version, serve,
};
use openssl::error::ErrorStack;
use openssl::ssl::SslContext;

use client_session::Shared;
use connection::{Buffers, Connection};

/// The bindings below the crate `openssl`, with the names that functions with callbacks of the
/// right type have in BoringSSL's bindings.
mod ffi {
    pub(crate) use openssl_sys::*;
    pub(crate) use openssl_sys::{
        BIO_meth_set_ctrl__fixed_rust as BIO_meth_set_ctrl,
        BIO_meth_set_read__fixed_rust as BIO_meth_set_read,
        BIO_meth_set_write__fixed_rust as BIO_meth_set_write,
        SSL_CTX_set_alpn_select_cb__fixed_rust as SSL_CTX_set_alpn_select_cb,
    };

    // Declarations of <openssl/ssl.h> that openssl-sys lacks.
    unsafe extern "C" {
        pub(crate) fn SSL_set0_rbio(ssl: *mut SSL, bio: *mut BIO);
        pub(crate) fn SSL_set0_wbio(ssl: *mut SSL, bio: *mut BIO);
    }
}

/// The name of the crate in the parts that are shared with the worker for BoringSSL.
use openssl as library;

fn main() -> ExitCode {
    let (tcp, quic) = (LibraryWorker::<OpenSsl>::new(), LibraryWorker::<quic::Quic>::new());
    serve(EitherTransport { tcp, quic })
}

struct OpenSsl {
    client: SslContext,
    server: SslContext,
    host: &'static str,
    name: CString,
    files: Files,
    /// Whether the client takes the session from the handshake itself, as in TLS 1.2.
    keeps: bool,
    early_data: bool,
    /// Published accounting: the session that all clients resume.
    published: Option<Shared>,
}

impl Library for OpenSsl {
    type Client = Side<true>;
    type Server = Side<false>;

    const PROGRAM: Option<Program> = Some(Program::OpensslBench);
    const ECH: bool = cfg!(feature = "ech");

    fn about() -> About {
        let version = openssl::version::version();
        About {
            library: "OpenSSL".to_owned(),
            version: version.split(' ').nth(1).unwrap_or(version).to_owned(),
            crypto: "its own".to_owned(),
            interface: "a BIO over fixed buffers, SSL_write_ex, SSL_read_ex; SSL_set_quic_tls_cbs"
                .to_owned(),
            build: format!("openssl-src, {}", openssl::version::c_flags()),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        client_session::keep(None);
        if row.accounting == Accounting::Published {
            return Ok(Self {
                client: published::client(row, files)?,
                server: published::server(row, files)?,
                host: files.server_name(),
                name: CString::new(files.server_name())?,
                files: files.clone(),
                keeps: row.resumption.is_some(),
                early_data: false,
                published: Some(Shared::default()),
            });
        }
        let client = configuration::client(row, files)?;
        let server = configuration::server(row, files)?;
        #[cfg(feature = "ech")]
        ech::set(row, &client, &server)?;
        Ok(Self {
            client,
            server,
            host: files.server_name(),
            name: CString::new(files.server_name())?,
            files: files.clone(),
            keeps: row.version == Version::Tls12 && row.resumption.is_some(),
            early_data: row.early_data > 0,
            published: None,
        })
    }

    fn client(&self) -> Result<Self::Client> {
        client_session::reset_received();
        let published = self.published.is_some();
        let connection = Connection::client(&self.client, self.host, &self.name, published)?;
        let mut side = Side::new(connection);
        side.keeps = self.keeps;
        if let Some(shared) = &self.published {
            if let Some(session) = shared.session() {
                side.keeps = false;
                // SAFETY: the session is from a connection of the same context.
                unsafe { side.connection.ssl.set_session(session)? };
            }
            return Ok(side);
        }
        if let Some(session) = client_session::take() {
            // SAFETY: the session is from a connection of the same context.
            unsafe { side.connection.ssl.set_session(&session)? };
            if self.early_data {
                side.state = State::EarlyData;
            }
        }
        Ok(side)
    }

    fn server(&self) -> Result<Self::Server> {
        session::reset_issued();
        let connection = Connection::server(&self.server, self.published.is_some())?;
        let mut side = Side::new(connection);
        if self.early_data {
            side.state = State::EarlyData;
        }
        Ok(side)
    }

    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        let shared = (&self.client, &self.server);
        loading::load(row, material, &self.files, shared, |client, server| {
            let (name, files) = (self.name.clone(), self.files.clone());
            Self { client, server, name, files, published: None, ..*self }
        })
    }
}

/// One end of a connection.
struct Side<const CLIENT: bool> {
    connection: Connection,
    state: State,
    keeps: bool,
    early_data: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client sends early data with its ClientHello; the server reads it before other data.
    EarlyData,
    Handshake,
    Connected,
}

impl<const CLIENT: bool> Side<CLIENT> {
    fn new(connection: Connection) -> Self {
        Self { connection, state: State::Handshake, keeps: false, early_data: 0 }
    }

    /// Reads received early data. Returns whether that is complete.
    fn read_early(&mut self, buffers: &mut Buffers) -> Result<bool> {
        let opened = &mut buffers.opened;
        loop {
            let mut length = 0;
            // SAFETY: the buffer has the given length.
            let result = self.connection.with(&mut buffers.wire, |ssl| unsafe {
                ffi::SSL_read_early_data(ssl, opened.as_mut_ptr().cast(), opened.len(), &mut length)
            });
            self.early_data += length;
            match result {
                ffi::SSL_READ_EARLY_DATA_SUCCESS => {}
                ffi::SSL_READ_EARLY_DATA_FINISH => return Ok(true),
                _ => return self.connection.wants_more(result).map(|()| false),
            }
        }
    }

    /// The data of one record; `None` without a complete record.
    fn read<'b>(&mut self, buffers: &'b mut Buffers) -> Result<Option<&'b [u8]>> {
        let Buffers { wire, opened } = buffers;
        let length = self.read_into(wire, opened)?;
        Ok(length.and_then(|length| opened.get(..length)))
    }

    /// The length of one record's data; `None` without a complete record.
    fn read_into(
        &mut self,
        wire: &mut TransportBuffers,
        opened: &mut [u8],
    ) -> Result<Option<usize>> {
        let mut length = 0;
        // SAFETY: the buffer has the given length.
        let result = self.connection.with(wire, |ssl| unsafe {
            ffi::SSL_read_ex(ssl, opened.as_mut_ptr().cast(), opened.len(), &mut length)
        });
        match result {
            1 => Ok(Some(length)),
            _ => self.connection.wants_more(result).map(|()| None),
        }
    }

    /// A name that OpenSSL returns by a control.
    fn reported_name(&self, control: c_int) -> Option<&str> {
        let mut name: *const c_char = ptr::null();
        // SAFETY: these controls write a pointer to a static C string and return 1, or return 0.
        unsafe {
            let (ssl, name_at) = (self.connection.ssl.as_ptr(), ptr::from_mut(&mut name).cast());
            let told = ffi::SSL_ctrl(ssl, control, 0, name_at);
            (told == 1 && !name.is_null()).then(|| CStr::from_ptr(name))?.to_str().ok()
        }
    }
}

impl<const CLIENT: bool> Drop for Side<CLIENT> {
    fn drop(&mut self) {
        // Without this, OpenSSL treats the connection as broken and removes its session.
        // SSL_clear(3)
        // SAFETY: the connection is valid.
        unsafe { ffi::SSL_set_shutdown(self.connection.ssl.as_ptr(), ffi::SSL_SENT_SHUTDOWN) };
    }
}

impl<const CLIENT: bool> Endpoint for Side<CLIENT> {
    type Buffers = Buffers;

    fn buffers(row: &Row, capacity: usize) -> Buffers {
        Buffers::new(row, capacity)
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        match &mut self.connection.memory {
            Some(memory) => memory.deliver(bytes),
            None => Ok(buffers.wire.deliver(bytes)),
        }
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        match &mut self.connection.memory {
            Some(memory) => memory.collect(wire)?,
            None => buffers.wire.collect(wire),
        }
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        if self.state == State::EarlyData {
            // The ClientHello is sent together with early data.
            if CLIENT || !self.read_early(buffers)? {
                return Ok(());
            }
            self.state = State::Handshake;
        }
        if self.state == State::Handshake {
            if !self.connection.handshake(&mut buffers.wire)? {
                return Ok(());
            }
            self.state = State::Connected;
            if CLIENT && self.keeps {
                client_session::keep(self.connection.ssl.session().map(ToOwned::to_owned));
            }
        }
        if self.connection.memory.is_some() {
            // Only the first connection reads its tickets, which later connections resume.
            if CLIENT && self.keeps && self.read(buffers)?.is_none() {
                client_session::keep(self.connection.ssl.session().map(ToOwned::to_owned));
            }
            return Ok(());
        }
        // At this point only tickets arrive.
        if buffers.wire.has_unread() && self.read(buffers)?.is_some() {
            return Err("data after a handshake".into());
        }
        Ok(())
    }

    fn send_early(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        if !CLIENT || self.state != State::EarlyData {
            return Err("no session allows early data".into());
        }
        let mut written = 0;
        // SAFETY: the data has the given length.
        let result = self.connection.with(&mut buffers.wire, |ssl| unsafe {
            ffi::SSL_write_early_data(ssl, data.as_ptr().cast(), data.len(), &mut written)
        });
        if result != 1 || written != data.len() {
            return Err(format!("early data: {}", ErrorStack::get()).into());
        }
        self.state = State::Handshake;
        Ok(())
    }

    fn outcome(&self) -> Result<Outcome> {
        if self.state != State::Connected {
            return Err("not connected".into());
        }
        let ssl = &self.connection.ssl;
        let (version, suite) = self.connection.agreed()?;
        // SAFETY: the name is null or a static C string.
        let group = unsafe {
            let name = SSL_get0_group_name(ssl.as_ptr());
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy())
        };
        let group = group.and_then(|name| {
            Group::ALL.iter().find(|each| each.name().eq_ignore_ascii_case(&name)).copied()
        });
        let scheme =
            self.reported_name(if CLIENT { GET_PEER_SIGNATURE_NAME } else { GET_SIGNATURE_NAME });
        Ok(Outcome {
            version,
            suite,
            group,
            scheme: scheme.and_then(|name| {
                Scheme::ALL.iter().find(|each| each.name().eq_ignore_ascii_case(name)).copied()
            }),
            resumed: ssl.session_reused(),
            client_certificate: (!CLIENT).then(|| ssl.peer_certificate().is_some()),
            tickets: match (CLIENT, version) {
                (true, Version::Tls12) => None,
                (true, Version::Tls13) => Some(client_session::received()),
                (false, _) => Some(session::issued()),
            },
            early_data: self.early_data,
        })
    }

    #[cfg(feature = "ech")]
    fn ech_accepted(&self) -> bool {
        ech::accepted(&self.connection)
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let mut written = 0;
        // SAFETY: the data has the given length.
        let result = self.connection.with(&mut buffers.wire, |ssl| unsafe {
            ffi::SSL_write_ex(ssl, data.as_ptr().cast(), data.len(), &mut written)
        });
        match result {
            1 if written == data.len() => Ok(()),
            _ => Err(format!("{written} bytes sent: {}", ErrorStack::get()).into()),
        }
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        if self.connection.memory.is_some() {
            // Receives a whole write, and decrypts each record to its position.
            let (wire, opened, mut filled) = (&mut buffers.wire, &mut buffers.opened, 0);
            while filled < opened.len() {
                let Some(length) = self.read_into(wire, &mut opened[filled..])? else { break };
                filled += length;
            }
            sink(&opened[..filled]);
            return Ok(());
        }
        while let Some(data) = self.read(buffers)? {
            sink(data);
        }
        Ok(())
    }
}

// Constants of <openssl/ssl.h> that openssl-sys lacks.
const GET_SIGNATURE_NAME: c_int = 140;
const GET_PEER_SIGNATURE_NAME: c_int = 141;

unsafe extern "C" {
    fn SSL_get0_group_name(ssl: *mut ffi::SSL) -> *const c_char;
}
