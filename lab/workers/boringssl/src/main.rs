//! Worker for BoringSSL, as built by the crate `boring`.
//!
//! The transport is a custom BIO over buffers of fixed size, with one method for all connections. A
//! memory BIO would grow and move its content, and the crate `boring` would create a method for
//! each connection. Data is sent with `SSL_write` and received with `SSL_read`, one record per
//! call.
//!
//! BoringSSL moves bytes of the transport in callbacks. As with other libraries, this copying is
//! not timed. A TLS 1.3 server of BoringSSL sends its tickets with its first write; the worker
//! makes an empty write for this, as BoringSSL's header documents.
//!
//! Handshakes over QUIC are in `quic`.
//!
//! In published accounting the worker follows openssl-bench (`published.rs`, `memory.rs`).

#[path = "../../openssl/src/client_session.rs"]
mod client_session;
mod configuration;
#[path = "../../openssl/src/connection.rs"]
mod connection;
#[path = "../../openssl/src/context.rs"]
mod context;
mod ech;
#[path = "../../openssl/src/loading.rs"]
mod loading;
#[path = "../../openssl/src/memory.rs"]
mod memory;
mod published;
mod quic;
mod session;
#[path = "../../openssl/src/transport.rs"]
mod transport;

use std::ffi::{CString, c_int};
use std::process::ExitCode;

use boring::error::ErrorStack;
use boring::ssl::SslContext;
use boring_sys as ffi;
use foreign_types::ForeignType;
use lab_quic::EitherTransport;
use lab_scenario::{
    About, Accounting, Endpoint, Files, Group, Library, LibraryWorker, LoadedObject, Material,
    Outcome, PrepareError, Program, Result, Resumption, Row, Scheme, Sink, TransportBuffers,
    Version, locked_version, serve,
};

use client_session::Shared;
use connection::{Buffers, Connection};

/// The name of the crate in the parts that are shared with the worker for OpenSSL.
use boring as library;

fn main() -> ExitCode {
    let (tcp, quic) = (LibraryWorker::<BoringSsl>::new(), LibraryWorker::<quic::Quic>::new());
    serve(EitherTransport { tcp, quic })
}

struct BoringSsl {
    client: SslContext,
    server: SslContext,
    host: &'static str,
    name: CString,
    files: Files,
    version: Version,
    /// Whether the server sends tickets after a TLS 1.3 handshake.
    tickets: bool,
    resumption: Option<Resumption>,
    /// What clients offer of Encrypted ClientHello.
    ech: ech::Offer,
    /// Published accounting: the session that all clients resume.
    published: Option<Shared>,
}

impl Library for BoringSsl {
    type Client = Side<true>;
    type Server = Side<false>;

    const PROGRAM: Option<Program> = Some(Program::OpensslBench);
    const ECH: bool = true;

    fn about() -> About {
        let lock = include_str!("../Cargo.lock");
        About {
            library: "BoringSSL".to_owned(),
            version: format!("of boring-sys {}", locked_version(lock, "boring-sys")),
            crypto: "its own".to_owned(),
            interface: "a BIO over fixed buffers, SSL_write, SSL_read; SSL_QUIC_METHOD".to_owned(),
            build: "CMake's release build by boring-sys".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        configuration::can(row)?;
        client_session::keep(None);
        let published = row.accounting == Accounting::Published;
        let (client, server) = if published {
            (published::client(row, files)?, published::server(row, files)?)
        } else {
            (configuration::client(row, files)?, configuration::server(row, files)?)
        };
        let ech = ech::Offer::for_row(row, &server)?;
        Ok(Self {
            client,
            server,
            ech,
            host: files.server_name(),
            name: CString::new(files.server_name())?,
            files: files.clone(),
            version: row.version,
            tickets: row.version == Version::Tls13 && row.tickets > 0,
            resumption: row.resumption,
            published: published.then(Shared::default),
        })
    }

    fn client(&self) -> Result<Self::Client> {
        client_session::reset_received();
        let published = self.published.is_some();
        let connection = Connection::client(&self.client, self.host, &self.name, published)?;
        self.ech.set(&connection)?;
        let mut side = Side { connection, connected: false, holds_tickets: false, first: false };
        if self.resumption.is_none() {
            return Ok(side);
        }
        if let Some(shared) = &self.published {
            match shared.session() {
                // SAFETY: the session is from a connection of the same context.
                Some(session) => unsafe { side.connection.ssl.set_session(session)? },
                None => side.first = true,
            }
            return Ok(side);
        }
        if let Some(session) = client_session::take() {
            // SAFETY: the session is from a connection of the same context.
            unsafe { side.connection.ssl.set_session(&session)? };
            // A TLS 1.2 session can be used until a new one arrives.
            if self.version == Version::Tls12 {
                client_session::keep(Some(session));
            }
        }
        Ok(side)
    }

    fn server(&self) -> Result<Self::Server> {
        let connection = Connection::server(&self.server, self.published.is_some())?;
        // In published accounting only the first connection receives tickets.
        let holds_tickets =
            self.tickets && self.published.as_ref().is_none_or(|shared| shared.session().is_none());
        Ok(Side { connection, connected: false, holds_tickets, first: false })
    }

    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        let shared = (&self.client, &self.server);
        loading::load(row, material, &self.files, shared, |client, server| {
            let (name, files) = (self.name.clone(), self.files.clone());
            let ech = ech::Offer::Nothing;
            Self { client, server, name, files, ech, published: None, ..*self }
        })
    }
}

/// One end of a connection.
struct Side<const CLIENT: bool> {
    connection: Connection,
    connected: bool,
    holds_tickets: bool,
    /// Client in published accounting: whether it reads the tickets that others resume.
    first: bool,
}

impl<const CLIENT: bool> Side<CLIENT> {
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
        let room = c_int::try_from(opened.len())?;
        // SAFETY: the buffer has the given length.
        let result = self
            .connection
            .with(wire, |ssl| unsafe { ffi::SSL_read(ssl, opened.as_mut_ptr().cast(), room) });
        match usize::try_from(result) {
            Ok(length @ 1..) => Ok(Some(length)),
            _ => self.connection.wants_more(result).map(|()| None),
        }
    }

    /// Sends one write, which may be empty.
    fn write(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let length = c_int::try_from(data.len())?;
        // SAFETY: the data has the given length.
        let result = self.connection.with(&mut buffers.wire, |ssl| unsafe {
            ffi::SSL_write(ssl, data.as_ptr().cast(), length)
        });
        if result != length {
            return Err(format!("SSL_write {result}: {}", ErrorStack::get()).into());
        }
        Ok(())
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
        if !self.connected {
            if !self.connection.handshake(&mut buffers.wire)? {
                return Ok(());
            }
            self.connected = true;
            if self.holds_tickets {
                self.write(buffers, &[])?;
            }
        }
        if self.connection.memory.is_some() {
            // The callback stores the tickets.
            if self.first && self.read(buffers)?.is_some() {
                return Err("data after a handshake".into());
            }
            return Ok(());
        }
        // At this point only tickets arrive.
        if buffers.wire.has_unread() && self.read(buffers)?.is_some() {
            return Err("data after a handshake".into());
        }
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
        Err("early data is not supported".into())
    }

    fn outcome(&self) -> Result<Outcome> {
        if !self.connected {
            return Err("not connected".into());
        }
        let (version, suite) = self.connection.agreed()?;
        let ssl = self.connection.ssl.as_ptr();
        // SAFETY: the connection is valid.
        let (group, scheme) =
            unsafe { (ffi::SSL_get_group_id(ssl), ffi::SSL_get_peer_signature_algorithm(ssl)) };
        Ok(Outcome {
            version,
            suite,
            group: Group::of_number(group),
            // A server does not report its own scheme.
            scheme: Scheme::of_number(scheme).filter(|_| CLIENT),
            resumed: self.connection.ssl.session_reused(),
            client_certificate: (!CLIENT).then(|| self.connection.ssl.peer_certificate().is_some()),
            tickets: CLIENT.then(client_session::received),
            early_data: 0,
        })
    }

    fn ech_accepted(&self) -> bool {
        ech::accepted(&self.connection)
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        self.write(buffers, data)
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
