//! The lab's worker for rustls 0.23 with aws-lc-rs.
//!
//! It is driven through the buffered connections; `write_tls` and `read_tls`, which stand for the system calls of
//! an application, are not timed. The worker `rustls-unbuffered` drives the other ones: in this version they
//! receive small records faster, send slower because they copy what they sealed within the call, and do the
//! rest alike. The better of the two is what a third library is held against.
//!
//! In published accounting it is driven and configured as rustls-bench does it (`published.rs`).

#![forbid(unsafe_code)]

mod configuration;
mod loading;
mod published;

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use lab_scenario::{
    About, Accounting, Driven, Endpoint, Files, Library, Loaded, Material, Outcome, Program,
    Result, Row, Sink, Unable, serve,
};
use rustls::crypto::CryptoProvider;
use rustls::sign::SigningKey;
use rustls::{ClientConnection, ProtocolVersion, ServerConnection, SignatureScheme};

use configuration::{Configured, about, outcome, provider};

fn main() -> ExitCode {
    serve(Driven::<Rustls>::new())
}

/// A private key as this release holds it.
type PrivateKey = Arc<dyn SigningKey>;

struct Rustls {
    configured: Configured,
    provider: Arc<CryptoProvider>,
    files: Files,
}

impl Library for Rustls {
    type Client = Client;
    type Server = Server;

    const PROGRAM: Option<Program> = Some(Program::RustlsBench);

    fn about() -> About {
        about("buffered connections")
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, Unable> {
        let provider = Arc::new(provider(row)?);
        let configured = Configured::new(row, files, &provider)?;
        Ok(Self { configured, provider, files: files.clone() })
    }

    fn client(&self) -> Result<Client> {
        let Configured { client, name, .. } = &self.configured;
        Ok(Client(ClientConnection::new(Arc::clone(client), name.clone())?))
    }

    fn server(&self) -> Result<Server> {
        let mut connection = ServerConnection::new(Arc::clone(&self.configured.server))?;
        // A write of any size at once.
        connection.set_buffer_limit(None);
        Ok(Server { connection, early_data: 0 })
    }

    fn load(&self, row: &Row, material: &Material) -> std::result::Result<Loaded<Self>, Unable> {
        loading::load(self, row, material)
    }
}

/// Applications need none; what they do with the connection's own depends on the accounting.
struct Buffers {
    published: bool,
}

struct Client(ClientConnection);

struct Server {
    connection: ServerConnection,
    early_data: usize,
}

/// What both ends do alike; the two types of connection have no trait in common.
macro_rules! both_ends {
    ($connection:tt) => {
        type Buffers = Buffers;

        fn buffers(row: &Row, _: usize) -> Buffers {
            Buffers { published: row.accounting == Accounting::Published }
        }

        fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
            let mut rest = bytes;
            if buffers.published {
                return Ok(self.$connection.read_tls(&mut rest)?);
            }
            while !rest.is_empty() {
                match self.$connection.read_tls(&mut rest) {
                    Ok(_) => {}
                    // Full: some of it has to be processed first.
                    Err(_) if rest.len() < bytes.len() => break,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(bytes.len() - rest.len())
        }

        fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
            if buffers.published {
                return published::collect(wire, |out| match self.$connection.wants_write() {
                    true => self.$connection.write_tls(out),
                    false => Ok(0),
                });
            }
            while self.$connection.wants_write() {
                self.$connection.write_tls(wire)?;
            }
            Ok(())
        }

        fn send(&mut self, _: &mut Buffers, data: &[u8]) -> Result<()> {
            Ok(self.$connection.writer().write_all(data)?)
        }

        fn receive(&mut self, _: &mut Buffers, sink: Sink<'_>) -> Result<()> {
            let state = self.$connection.process_new_packets()?;
            let mut left = state.plaintext_bytes_to_read();
            let mut reader = self.$connection.reader();
            while left > 0 {
                let chunk = reader.fill_buf()?;
                let length = chunk.len();
                sink(chunk);
                reader.consume(length);
                left = left.checked_sub(length).ok_or("more plaintext than was told")?;
            }
            Ok(())
        }
    };
}

impl Endpoint for Client {
    both_ends!(0);

    fn advance(&mut self, _: &mut Buffers) -> Result<()> {
        self.0.process_new_packets()?;
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, data: &[u8]) -> Result<()> {
        let mut early = self.0.early_data().ok_or("the session admits no early data")?;
        Ok(early.write_all(data)?)
    }

    fn outcome(&self) -> Result<Outcome> {
        let tls13 = self.0.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let tickets = tls13.then(|| self.0.tls13_tickets_received());
        Ok(Outcome { tickets, ..outcome(&self.0)? })
    }
}

impl Endpoint for Server {
    both_ends!(connection);

    fn advance(&mut self, _: &mut Buffers) -> Result<()> {
        self.connection.process_new_packets()?;
        if let Some(mut early) = self.connection.early_data() {
            let mut data = [0; 2048];
            loop {
                match early.read(&mut data)? {
                    0 => break,
                    count => self.early_data += count,
                }
            }
        }
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
        Err("early data is the client's".into())
    }

    fn outcome(&self) -> Result<Outcome> {
        let client_certificate = Some(self.connection.peer_certificates().is_some());
        Ok(Outcome {
            client_certificate,
            early_data: self.early_data,
            ..outcome(&self.connection)?
        })
    }
}
