//! The lab's worker for BoringSSL, as the crate `boring` builds it.
//!
//! It is driven through a BIO of its own over buffers of fixed size, one method for all connections: the memory
//! BIO grows and moves its content, and a BIO by the crate `boring` makes a method anew for each connection.
//! Data is sent by `SSL_write` and received by `SSL_read`, one record a call.
//!
//! BoringSSL asks for bytes from within its calls; that copy is not timed, as for other libraries. A server of
//! TLS 1.3 holds its tickets back until it writes; an empty write sends them, as its header says.

mod configuration;
#[path = "../../openssl/src/connection.rs"]
mod connection;
#[path = "../../openssl/src/kept.rs"]
mod kept;
mod session;
#[path = "../../openssl/src/transport.rs"]
mod transport;

use std::ffi::{CString, c_int};
use std::process::ExitCode;

use boring as library;
use boring::error::ErrorStack;
use boring::ssl::SslContext;
use boring_sys as ffi;
use foreign_types::ForeignType;
use lab_scenario::{
    About, Driven, Endpoint, Files, Group, Library, Outcome, Result, Resumption, Row, Scheme, Sink,
    Unable, Version, locked_version, serve,
};

use connection::{Buffers, Connection};

fn main() -> ExitCode {
    serve(Driven::<BoringSsl>::new())
}

struct BoringSsl {
    client: SslContext,
    server: SslContext,
    host: &'static str,
    name: CString,
    version: Version,
    /// Whether the server has tickets to send after a handshake of TLS 1.3.
    tickets: bool,
    resumption: Option<Resumption>,
}

impl Library for BoringSsl {
    type Client = Side<true>;
    type Server = Side<false>;

    fn about() -> About {
        let lock = include_str!("../Cargo.lock");
        About {
            library: "BoringSSL".to_owned(),
            version: format!("of boring-sys {}", locked_version(lock, "boring-sys")),
            crypto: "its own".to_owned(),
            interface: "a BIO over fixed buffers, SSL_write, SSL_read".to_owned(),
            build: "CMake's release build by boring-sys".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, Unable> {
        configuration::can(row)?;
        kept::keep(None);
        Ok(Self {
            client: configuration::client(row, files)?,
            server: configuration::server(row, files)?,
            host: files.server_name(),
            name: CString::new(files.server_name())?,
            version: row.version,
            tickets: row.version == Version::Tls13 && row.tickets > 0,
            resumption: row.resumption,
        })
    }

    fn client(&self) -> Result<Self::Client> {
        kept::forget_arrived();
        let mut connection = Connection::client(&self.client, self.host, &self.name)?;
        if let Some(session) = self.resumption.and_then(|_| kept::take()) {
            // SAFETY: it came from a connection of the same context.
            unsafe { connection.ssl.set_session(&session)? };
            // Sessions of TLS 1.2 serve until another arrives.
            if self.version == Version::Tls12 {
                kept::keep(Some(session));
            }
        }
        Ok(Side { connection, connected: false, holds_tickets: false })
    }

    fn server(&self) -> Result<Self::Server> {
        let connection = Connection::server(&self.server)?;
        Ok(Side { connection, connected: false, holds_tickets: self.tickets })
    }
}

/// One end of a connection.
struct Side<const CLIENT: bool> {
    connection: Connection,
    connected: bool,
    holds_tickets: bool,
}

impl<const CLIENT: bool> Side<CLIENT> {
    /// One record's data, or none if no more has come whole.
    fn read<'b>(&mut self, buffers: &'b mut Buffers) -> Result<Option<&'b [u8]>> {
        let opened = &mut buffers.opened;
        let room = c_int::try_from(opened.len())?;
        // SAFETY: the buffer has the length that is told.
        let result = self.connection.with(&mut buffers.wire, |ssl| unsafe {
            ffi::SSL_read(ssl, opened.as_mut_ptr().cast(), room)
        });
        match usize::try_from(result) {
            Ok(length @ 1..) => Ok(opened.get(..length)),
            _ => self.connection.wants_more(result).map(|()| None),
        }
    }

    /// One write, also of no bytes.
    fn write(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let length = c_int::try_from(data.len())?;
        // SAFETY: the data has the length that is told.
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

    fn buffers(_: &Row, at_once: usize) -> Buffers {
        Buffers::new(at_once)
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        Ok(buffers.wire.deliver(bytes))
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        buffers.wire.collect(wire);
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
        // Tickets.
        if buffers.wire.has_more() && self.read(buffers)?.is_some() {
            return Err("data after a handshake".into());
        }
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
        Err("no row with early data can be done".into())
    }

    fn outcome(&self) -> Result<Outcome> {
        if !self.connected {
            return Err("not connected".into());
        }
        let (version, suite) = self.connection.agreed()?;
        let ssl = self.connection.ssl.as_ptr();
        // SAFETY: the connection is ours.
        let (group, scheme) =
            unsafe { (ffi::SSL_get_group_id(ssl), ffi::SSL_get_peer_signature_algorithm(ssl)) };
        Ok(Outcome {
            version,
            suite,
            group: Group::of_number(group),
            // The server's own it does not tell.
            scheme: Scheme::of_number(scheme).filter(|_| CLIENT),
            resumed: self.connection.ssl.session_reused(),
            client_certificate: (!CLIENT).then(|| self.connection.ssl.peer_certificate().is_some()),
            tickets: CLIENT.then(kept::arrived),
            early_data: 0,
        })
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        self.write(buffers, data)
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        while let Some(data) = self.read(buffers)? {
            sink(data);
        }
        Ok(())
    }
}
