//! Worker for the pre-release of rustls 0.24.
//!
//! This release has one interface instead of the two of 0.23. Records are decrypted in the caller's
//! receive buffer, a `SliceInput` of fixed size (a `VecInput` would move remaining data). Output is
//! appended to the caller's vector. A client writes its ClientHello at creation, to a thread-local
//! vector.

#![forbid(unsafe_code)]

mod configuration;
#[path = "../../rustls/src/loading.rs"]
mod loading;

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;

use lab_scenario::{
    About, Endpoint, Files, Library, LibraryWorker, LoadedObject, Material, Outcome, PrepareError,
    Result, Row, Sink, TransportBuffers, Version, locked_version, piece_size, serve, untimed,
};
use rustls::crypto::{CryptoProvider, SignatureScheme, SigningKey};
use rustls::{ClientSide, Connection, ServerSide, SliceInput, Tcp};

use configuration::{Configured, outcome, provider};

fn main() -> ExitCode {
    serve(LibraryWorker::<Rustls>::new())
}

/// The private key type of this release.
type PrivateKey = Box<dyn SigningKey>;

struct Rustls {
    configured: Configured,
    provider: Arc<CryptoProvider>,
    files: Files,
}

thread_local! {
    /// The ClientHello of the last client that was created.
    static HELLO: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Library for Rustls {
    type Client = Client;
    type Server = Server;

    fn about() -> About {
        let lock = include_str!("../Cargo.lock");
        About {
            library: "rustls".to_owned(),
            version: locked_version(lock, "rustls").to_owned(),
            crypto: format!(
                "AWS-LC (aws-lc-rs {}, aws-lc-sys {})",
                locked_version(lock, "aws-lc-rs"),
                locked_version(lock, "aws-lc-sys")
            ),
            interface: "read_tls from a borrowed slice, write to a vector".to_owned(),
            build: "release, thin LTO, one codegen unit".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        let provider = Arc::new(provider(row)?);
        let configured = Configured::new(row, files, &provider)?;
        Ok(Self { configured, provider, files: files.clone() })
    }

    fn client(&self) -> Result<Client> {
        HELLO.with_borrow_mut(|hello| {
            hello.clear();
            let Configured { client, name, .. } = &self.configured;
            let builder = client.connect(name.clone());
            Ok(Client { connection: builder.build(hello)?, has_pending_hello: true })
        })
    }

    fn server(&self) -> Result<Server> {
        let connection = Connection::new(Arc::clone(&self.configured.server))?;
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

/// Buffers that a thread uses for all its connections.
struct Buffers {
    wire: TransportBuffers,
    out: Vec<u8>,
    /// What the transport has taken from `out`.
    sent: Vec<u8>,
    /// The size of pieces in which a write is encrypted.
    piece: usize,
}

impl Buffers {
    fn collect(&mut self, wire: &mut Vec<u8>) {
        wire.append(&mut self.sent);
        wire.append(&mut self.out);
    }
}

struct Client {
    connection: Connection<ClientSide, Tcp>,
    /// Whether the ClientHello has not been collected yet.
    has_pending_hello: bool,
}

struct Server {
    connection: Connection<ServerSide, Tcp>,
    early_data: usize,
}

/// Code for both ends. Their methods differ in the handling of early data.
macro_rules! both_ends {
    () => {
        type Buffers = Buffers;

        fn buffers(row: &Row, capacity: usize) -> Buffers {
            Buffers {
                wire: TransportBuffers::new(capacity),
                out: Vec::with_capacity(capacity),
                sent: Vec::with_capacity(capacity),
                piece: piece_size(row),
            }
        }

        fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
            Ok(buffers.wire.deliver(bytes))
        }

        fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
            for piece in data.chunks(buffers.piece) {
                self.connection.write(piece.into(), &mut buffers.out)?;
                if buffers.out.len() >= buffers.piece {
                    untimed(|| buffers.sent.append(&mut buffers.out));
                }
            }
            Ok(())
        }

        fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
            let Buffers { wire, out, .. } = buffers;
            let mut input = SliceInput::new(wire.unread());
            let mut messages = self.connection.read_tls(&mut input, out);
            while let Some(data) = messages.next_payload() {
                sink(data?.bytes());
            }
            drop(messages);
            let used = input.into_used();
            wire.consume(used);
            Ok(())
        }
    };
}

impl Endpoint for Client {
    both_ends!();

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        if std::mem::take(&mut self.has_pending_hello) {
            HELLO.with_borrow(|hello| wire.extend_from_slice(hello));
        }
        buffers.collect(wire);
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        let mut data = false;
        self.receive(buffers, &mut |_| data = true)?;
        if data { Err("data after a handshake".into()) } else { Ok(()) }
    }

    fn send_early(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let early = self.connection.early_data();
        let mut early = early.ok_or("the session does not allow early data")?;
        let written = early.write(data.into(), &mut buffers.out)?;
        if written == data.len() { Ok(()) } else { Err(format!("{written} bytes sent").into()) }
    }

    fn outcome(&self) -> Result<Outcome> {
        let outcome = outcome(&self.connection)?;
        let tls13 = outcome.version == Version::Tls13;
        let tickets = tls13.then(|| self.connection.tls13_tickets_received());
        Ok(Outcome { tickets, ..outcome })
    }
}

impl Endpoint for Server {
    both_ends!();

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        buffers.collect(wire);
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        let Buffers { wire, out, .. } = buffers;
        let mut input = SliceInput::new(wire.unread());
        let mut messages = self.connection.read_tls(&mut input, out);
        while let Some(data) = messages.next_early_data() {
            self.early_data += data?.bytes().len();
        }
        if let Some(data) = messages.next_payload() {
            data?;
            return Err("data after a handshake".into());
        }
        drop(messages);
        let used = input.into_used();
        wire.consume(used);
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
        Err("only clients send early data".into())
    }

    fn outcome(&self) -> Result<Outcome> {
        let client_certificate = Some(self.connection.peer_identity().is_some());
        Ok(Outcome {
            client_certificate,
            early_data: self.early_data,
            ..outcome(&self.connection)?
        })
    }
}
