//! The lab's worker for the pre-release of rustls 0.24.
//!
//! It has one interface in place of the two of 0.23: records are opened where the caller received them, in a
//! buffer of fixed size that is lent as `SliceInput` (its `VecInput` moves what is left), and what is sent is
//! appended to the caller's vector. A client writes its first message when it is made; that vector is the thread's,
//! too.

#![forbid(unsafe_code)]

mod configuration;
#[path = "../../rustls/src/loading.rs"]
mod loading;

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;

use lab_scenario::{
    About, Driven, Endpoint, Files, Library, Loaded, Material, Outcome, Result, Row, Sink, Unable,
    Version, Wire, locked_version, serve,
};
use rustls::crypto::{CryptoProvider, SignatureScheme, SigningKey};
use rustls::{ClientSide, Connection, ServerSide, SliceInput, Tcp};

use configuration::{Configured, outcome, provider};

fn main() -> ExitCode {
    serve(Driven::<Rustls>::new())
}

/// A private key as this release holds it.
type PrivateKey = Box<dyn SigningKey>;

struct Rustls {
    configured: Configured,
    provider: Arc<CryptoProvider>,
    files: Files,
}

thread_local! {
    /// What the client that was made last has to send first.
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

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, Unable> {
        let provider = Arc::new(provider(row)?);
        let configured = Configured::new(row, files, &provider)?;
        Ok(Self { configured, provider, files: files.clone() })
    }

    fn client(&self) -> Result<Client> {
        HELLO.with_borrow_mut(|hello| {
            hello.clear();
            let Configured { client, name, .. } = &self.configured;
            let builder = client.connect(name.clone());
            Ok(Client { connection: builder.build(hello)?, greets: true })
        })
    }

    fn server(&self) -> Result<Server> {
        let connection = Connection::new(Arc::clone(&self.configured.server))?;
        Ok(Server { connection, early_data: 0 })
    }

    fn load(&self, row: &Row, material: &Material) -> std::result::Result<Loaded<Self>, Unable> {
        loading::load(self, row, material)
    }
}

/// Buffers that one thread of an application keeps for all its connections.
struct Buffers {
    wire: Wire,
    out: Vec<u8>,
}

struct Client {
    connection: Connection<ClientSide, Tcp>,
    /// Whether its first message is not collected yet.
    greets: bool,
}

struct Server {
    connection: Connection<ServerSide, Tcp>,
    early_data: usize,
}

/// What both ends do alike; their methods differ in what they may do with early data.
macro_rules! both_ends {
    () => {
        type Buffers = Buffers;

        fn buffers(_: &Row, at_once: usize) -> Buffers {
            Buffers { wire: Wire::new(at_once), out: Vec::with_capacity(at_once) }
        }

        fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
            Ok(buffers.wire.deliver(bytes))
        }

        fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
            Ok(self.connection.write(data.into(), &mut buffers.out)?)
        }

        fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
            let Buffers { wire, out } = buffers;
            let mut input = SliceInput::new(wire.both().0);
            let mut messages = self.connection.read_tls(&mut input, out);
            while let Some(data) = messages.next_payload() {
                sink(data?.bytes());
            }
            drop(messages);
            let used = input.into_used();
            wire.use_up(used);
            Ok(())
        }
    };
}

impl Endpoint for Client {
    both_ends!();

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        if std::mem::take(&mut self.greets) {
            HELLO.with_borrow(|hello| wire.extend_from_slice(hello));
        }
        wire.append(&mut buffers.out);
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        let mut data = false;
        self.receive(buffers, &mut |_| data = true)?;
        if data { Err("data after a handshake".into()) } else { Ok(()) }
    }

    fn send_early(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let early = self.connection.early_data();
        let mut early = early.ok_or("the session admits no early data")?;
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
        wire.append(&mut buffers.out);
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        let Buffers { wire, out } = buffers;
        let mut input = SliceInput::new(wire.both().0);
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
        wire.use_up(used);
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
        Err("early data is the client's".into())
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
