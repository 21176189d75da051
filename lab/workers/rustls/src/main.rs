//! Worker for rustls 0.23 with buffered connections, with aws-lc-rs. The workers `rustls-tercel`
//! and `rustls-tercel-memory` are the same code with the provider `tercel-rustls`.
//!
//! `write_tls` and `read_tls` stand for system calls and are not timed. The worker
//! `rustls-unbuffered` uses the unbuffered connections. In this release they receive small records
//! faster, send more slowly because they copy encrypted data within the call, and are otherwise
//! equal. Other libraries are compared with the better of the two.
//!
//! Over QUIC, the worker uses quinn-proto's implementation of its traits on rustls (`quic.rs`).
//!
//! In published accounting the worker follows rustls-bench (`published.rs`).

#![forbid(unsafe_code)]

mod configuration;
mod loading;
mod published;
mod quic;

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use lab_quic::{EitherTransport, QuicWorker};
use lab_scenario::{
    About, Accounting, Endpoint, Files, Library, LibraryWorker, LoadedObject, Material, Outcome,
    PrepareError, Program, Result, Row, Sink, piece_size, serve, untimed,
};
use rustls::crypto::CryptoProvider;
use rustls::sign::SigningKey;
use rustls::{ClientConnection, ProtocolVersion, ServerConnection, SignatureScheme};

use configuration::{Configured, about, outcome, provider};

fn main() -> ExitCode {
    let (tcp, quic) = (LibraryWorker::<Rustls>::new(), QuicWorker::<quic::Rustls>::new());
    serve(EitherTransport { tcp, quic })
}

/// The private key type of this release.
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
        about("buffered connections; over QUIC quinn-proto")
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
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
        // Allows writes of any size.
        connection.set_buffer_limit(None);
        Ok(Server { connection, early_data: 0 })
    }

    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        loading::load(self, row, material)
    }
}

/// The application has no buffers. Whether the connection's own buffers are used depends on the
/// accounting.
struct Buffers {
    published: bool,
    /// The size of pieces in which a write is encrypted.
    piece: usize,
    /// The bytes that were written since the transport has taken records.
    written: usize,
    /// What the transport has taken.
    sent: Vec<u8>,
}

struct Client(ClientConnection);

struct Server {
    connection: ServerConnection,
    early_data: usize,
}

/// Code for both ends, because the two connection types have no common trait.
macro_rules! both_ends {
    ($connection:tt) => {
        type Buffers = Buffers;

        fn buffers(row: &Row, capacity: usize) -> Buffers {
            Buffers {
                published: row.accounting == Accounting::Published,
                piece: piece_size(row),
                written: 0,
                sent: Vec::with_capacity(capacity),
            }
        }

        fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
            let mut rest = bytes;
            if buffers.published {
                return Ok(self.$connection.read_tls(&mut rest)?);
            }
            while !rest.is_empty() {
                match self.$connection.read_tls(&mut rest) {
                    Ok(_) => {}
                    // The buffer is full; its content must be processed first.
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
            buffers.written = 0;
            wire.append(&mut buffers.sent);
            while self.$connection.wants_write() {
                self.$connection.write_tls(wire)?;
            }
            Ok(())
        }

        fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
            for piece in data.chunks(buffers.piece) {
                self.$connection.writer().write_all(piece)?;
                buffers.written += piece.len();
                if buffers.written >= buffers.piece {
                    buffers.written = 0;
                    untimed(|| {
                        while self.$connection.wants_write() {
                            self.$connection.write_tls(&mut buffers.sent)?;
                        }
                        Ok::<_, std::io::Error>(())
                    })?;
                }
            }
            Ok(())
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
                left = left.checked_sub(length).ok_or("more plaintext than announced")?;
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
        let mut early = self.0.early_data().ok_or("the session does not allow early data")?;
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
        Err("only clients send early data".into())
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
