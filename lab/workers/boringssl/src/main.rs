//! The lab's worker for BoringSSL, as the crate `boring` builds it.
//!
//! It is driven through a BIO of its own over buffers of fixed size, one method for all connections: the memory
//! BIO grows and moves its content, and a BIO by the crate `boring` makes a method anew for each connection.
//! Data is sent by `SSL_write` and received by `SSL_read`, one record a call.
//!
//! BoringSSL asks for bytes from within its calls; that copy is not timed, as for other libraries. A server of
//! TLS 1.3 holds its tickets back until it writes; an empty write sends them, as its header says.
//!
//! In published accounting it is driven and configured as openssl-bench does it (`published.rs`, `memory.rs`).

mod configuration;
#[path = "../../openssl/src/memory.rs"]
mod memory;
mod published;
mod session;
#[path = "../../openssl/src/transport.rs"]
mod transport;

use std::ffi::{CString, c_int};
use std::process::ExitCode;
use std::ptr;

use boring::error::ErrorStack;
use boring::ssl::{Ssl, SslContext, SslVersion};
use boring_sys as ffi;
use foreign_types::ForeignType;
use lab_scenario::{
    About, Accounting, Driven, Endpoint, Files, Group, Library, Outcome, Program, Result,
    Resumption, Row, Scheme, Sink, Suite, Unable, Version, locked_version, serve,
};

use memory::Memory;
use published::Shared;
use transport::Wire;

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
    /// The session that all clients resume in published accounting, and only there.
    published: Option<Shared>,
}

impl Library for BoringSsl {
    type Client = Side<true>;
    type Server = Side<false>;

    const PROGRAM: Option<Program> = Some(Program::OpensslBench);

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
        session::keep(None);
        let published = row.accounting == Accounting::Published;
        let (client, server) = if published {
            (published::client(row, files)?, published::server(row, files)?)
        } else {
            (configuration::client(row, files)?, configuration::server(row, files)?)
        };
        Ok(Self {
            client,
            server,
            host: files.server_name(),
            name: CString::new(files.server_name())?,
            version: row.version,
            tickets: row.version == Version::Tls13 && row.tickets > 0,
            resumption: row.resumption,
            published: published.then(Shared::default),
        })
    }

    fn client(&self) -> Result<Self::Client> {
        session::forget_arrived();
        let mut side = Side::new(&self.client, self.published.is_some())?;
        if self.published.is_none() {
            side.ssl.param_mut().set_host(self.host)?;
        }
        let ssl = side.ssl.as_ptr();
        // SAFETY: the connection is ours, and BoringSSL copies the name.
        let set = unsafe {
            ffi::SSL_set_connect_state(ssl);
            ffi::SSL_set_tlsext_host_name(ssl, self.name.as_ptr())
        };
        if set != 1 {
            return Err(ErrorStack::get().into());
        }
        if self.resumption.is_none() {
            return Ok(side);
        }
        if let Some(shared) = &self.published {
            match shared.session() {
                // SAFETY: it came from a connection of the same context.
                Some(session) => unsafe { side.ssl.set_session(session)? },
                None => side.first = true,
            }
            return Ok(side);
        }
        if let Some(session) = session::take() {
            // SAFETY: it came from a connection of the same context.
            unsafe { side.ssl.set_session(&session)? };
            // Sessions of TLS 1.2 serve until another arrives.
            if self.version == Version::Tls12 {
                session::keep(Some(session));
            }
        }
        Ok(side)
    }

    fn server(&self) -> Result<Self::Server> {
        let mut side = Side::new(&self.server, self.published.is_some())?;
        // SAFETY: the connection is ours.
        unsafe { ffi::SSL_set_accept_state(side.ssl.as_ptr()) };
        // In published accounting the first connection alone gets them.
        side.holds_tickets = self.tickets && self.published.as_ref().is_none_or(Shared::is_empty);
        Ok(side)
    }
}

/// Buffers that one thread of an application keeps for all its connections.
struct Buffers {
    wire: Wire,
    /// What application data is opened into: a record.
    opened: Vec<u8>,
}

/// One end of a connection.
struct Side<const CLIENT: bool> {
    ssl: Ssl,
    /// The connection's, which frees it. Null in published accounting.
    bio: *mut ffi::BIO,
    /// The transport of published accounting.
    memory: Option<Memory>,
    connected: bool,
    holds_tickets: bool,
    /// Client, published accounting: whether it reads the tickets that others resume.
    first: bool,
}

impl<const CLIENT: bool> Side<CLIENT> {
    fn new(context: &SslContext, published: bool) -> Result<Self> {
        let bio = if published { ptr::null_mut() } else { transport::new()? };
        // Without what the crate attaches to each connection for callbacks that are not used here.
        // SAFETY: the context lives; a null pointer is no connection.
        let ssl = unsafe { ffi::SSL_new(context.as_ptr()) };
        if ssl.is_null() {
            return Err(ErrorStack::get().into());
        }
        // SAFETY: both are ours, and the connection takes the BIO, if there is one.
        let ssl = unsafe {
            ffi::SSL_set_bio(ssl, bio, bio);
            Ssl::from_ptr(ssl)
        };
        let memory = published.then(|| Memory::new(ssl.as_ptr())).transpose()?;
        Ok(Self { ssl, bio, memory, connected: false, holds_tickets: false, first: false })
    }

    /// Whether a call that returned `result` has to be made again once more has arrived; any other failure
    /// is an error.
    fn wants_more(&self, result: c_int) -> Result<()> {
        // SAFETY: `result` is that of the last call for this connection.
        match unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), result) } {
            ffi::SSL_ERROR_WANT_READ => Ok(()),
            code => Err(format!("SSL_get_error {code}: {}", ErrorStack::get()).into()),
        }
    }

    /// One record's data, or none if no more has come whole.
    fn read<'b>(&mut self, buffers: &'b mut Buffers) -> Result<Option<&'b [u8]>> {
        let Buffers { wire, opened } = buffers;
        let length = self.read_into(wire, opened)?;
        Ok(length.and_then(|length| opened.get(..length)))
    }

    /// The length of one record's data, or none.
    fn read_into(&mut self, wire: &mut Wire, opened: &mut [u8]) -> Result<Option<usize>> {
        let (ssl, room) = (self.ssl.as_ptr(), c_int::try_from(opened.len())?);
        // SAFETY: the buffer has the length that is told.
        let result = transport::lend(self.bio, wire, || unsafe {
            ffi::SSL_read(ssl, opened.as_mut_ptr().cast(), room)
        });
        match usize::try_from(result) {
            Ok(length @ 1..) => Ok(Some(length)),
            _ => self.wants_more(result).map(|()| None),
        }
    }

    /// One write, also of no bytes.
    fn write(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let (ssl, length) = (self.ssl.as_ptr(), c_int::try_from(data.len())?);
        // SAFETY: the data has the length that is told.
        let result = transport::lend(self.bio, &mut buffers.wire, || unsafe {
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

    fn buffers(row: &Row, at_once: usize) -> Buffers {
        Buffers { wire: Wire::new(at_once), opened: vec![0; published::opened(row)] }
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        match &mut self.memory {
            Some(memory) => memory.deliver(bytes),
            None => Ok(buffers.wire.deliver(bytes)),
        }
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        match &mut self.memory {
            Some(memory) => memory.collect(wire)?,
            None => buffers.wire.collect(wire),
        }
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        if !self.connected {
            let ssl = self.ssl.as_ptr();
            // SAFETY: the connection is ours.
            let result = transport::lend(self.bio, &mut buffers.wire, || unsafe {
                ffi::SSL_do_handshake(ssl)
            });
            if result != 1 {
                return self.wants_more(result);
            }
            self.connected = true;
            if self.holds_tickets {
                self.write(buffers, &[])?;
            }
        }
        if self.memory.is_some() {
            // They are kept by the callback.
            if self.first && self.read(buffers)?.is_some() {
                return Err("data after a handshake".into());
            }
            return Ok(());
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
        if !self.connected || !self.ssl.is_init_finished() {
            return Err("not connected".into());
        }
        let version = match self.ssl.version2() {
            Some(SslVersion::TLS1_2) => Version::Tls12,
            Some(SslVersion::TLS1_3) => Version::Tls13,
            other => return Err(format!("version {other:?}").into()),
        };
        let suite = self.ssl.current_cipher().and_then(|cipher| cipher.standard_name());
        let suite = Suite::ALL.iter().find(|each| Some(each.name()) == suite);
        let ssl = self.ssl.as_ptr();
        // SAFETY: the connection is ours.
        let (group, scheme) =
            unsafe { (ffi::SSL_get_group_id(ssl), ffi::SSL_get_peer_signature_algorithm(ssl)) };
        Ok(Outcome {
            version,
            suite: *suite.ok_or("an unknown suite")?,
            group: Group::ALL.iter().find(|each| group_id(**each) == group).copied(),
            // The server's own it does not tell.
            scheme: Scheme::ALL.iter().find(|each| CLIENT && scheme_id(**each) == scheme).copied(),
            resumed: self.ssl.session_reused(),
            client_certificate: (!CLIENT).then(|| self.ssl.peer_certificate().is_some()),
            tickets: CLIENT.then(session::arrived),
            early_data: 0,
        })
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        self.write(buffers, data)
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        if self.memory.is_some() {
            // A whole write, each record to its place.
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

/// The registered number.
fn group_id(group: Group) -> u16 {
    match group {
        Group::Secp256r1 => 0x0017,
        Group::X25519 => 0x001d,
        Group::X25519MlKem768 => 0x11ec,
    }
}

/// The registered number.
fn scheme_id(scheme: Scheme) -> u16 {
    match scheme {
        Scheme::EcdsaSecp256r1Sha256 => 0x0403,
        Scheme::RsaPssRsaeSha256 => 0x0804,
        Scheme::Ed25519 => 0x0807,
    }
}
