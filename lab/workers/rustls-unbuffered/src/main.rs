//! The lab's worker for the unbuffered connections of rustls 0.23, otherwise configured as the worker `rustls`.
//!
//! Records are opened where they lie, and sealed into the caller's buffer by way of a vector.

#![forbid(unsafe_code)]

#[path = "../../rustls/src/configuration.rs"]
mod configuration;

use std::process::ExitCode;
use std::sync::Arc;

use lab_scenario::{
    About, Driven, Endpoint, Files, Library, Loaded, Material, Outcome, Result, Row, Sink, Unable,
    locked_version, serve,
};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ClientConfig, ProtocolVersion, ServerConfig};

use configuration::{client, outcome, provider, server};

fn main() -> ExitCode {
    serve(Driven::<Rustls>::new())
}

struct Rustls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

impl Library for Rustls {
    type Client = Client;
    type Server = Server;

    fn about() -> About {
        let lock = include_str!("../../../Cargo.lock");
        About {
            library: "rustls".to_owned(),
            version: locked_version(lock, "rustls").to_owned(),
            crypto: format!(
                "AWS-LC (aws-lc-rs {}, aws-lc-sys {})",
                locked_version(lock, "aws-lc-rs"),
                locked_version(lock, "aws-lc-sys")
            ),
            interface: "unbuffered connections".to_owned(),
            build: "release, thin LTO, one codegen unit".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, Unable> {
        if row.early_data > 0 {
            return Err(Unable::cannot("0-RTT data is left to the buffered connections"));
        }
        let provider = Arc::new(provider(row)?);
        let name = ServerName::try_from(files.server_name())?;
        let client = Arc::new(client(row, files, &provider)?);
        Ok(Self { client, server: Arc::new(server(row, files, &provider)?), name })
    }

    fn client(&self) -> Result<Client> {
        Ok(Client(UnbufferedClientConnection::new(Arc::clone(&self.client), self.name.clone())?))
    }

    fn server(&self) -> Result<Server> {
        Ok(Server(UnbufferedServerConnection::new(Arc::clone(&self.server))?))
    }

    fn load(&self, _: &Row, _: &Material) -> std::result::Result<Loaded<Self>, Unable> {
        Err(Unable::cannot("it loads what the worker rustls loads, in the same way"))
    }
}

/// Buffers that one thread of an application keeps for all its connections.
struct Buffers {
    received: Vec<u8>,
    /// Of `received`, what has come and is not used yet.
    start: usize,
    end: usize,
    out: Vec<u8>,
    written: usize,
}

struct Client(UnbufferedClientConnection);

struct Server(UnbufferedServerConnection);

/// What both ends do alike; the two types of connection have no trait in common.
macro_rules! both_ends {
    () => {
        type Buffers = Buffers;

        fn buffers(_: &Row, at_once: usize) -> Buffers {
            Buffers {
                received: vec![0; at_once],
                start: 0,
                end: 0,
                out: vec![0; at_once],
                written: 0,
            }
        }

        fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
            let Buffers { received, start, end, .. } = buffers;
            received.copy_within(*start..*end, 0);
            (*start, *end) = (0, *end - *start);
            let room = &mut received[*end..];
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            *end += count;
            Ok(count)
        }

        fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
            loop {
                let received = &mut buffers.received[buffers.start..buffers.end];
                let UnbufferedStatus { discard, state, .. } = self.0.process_tls_records(received);
                let done = match state? {
                    ConnectionState::EncodeTlsData(mut message) => {
                        let room = &mut buffers.out[buffers.written..];
                        buffers.written += message.encode(room)?;
                        false
                    }
                    ConnectionState::TransmitTlsData(flight) => {
                        flight.done();
                        false
                    }
                    ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => true,
                    other => return Err(format!("{other:?} in a handshake").into()),
                };
                buffers.start += discard;
                if done {
                    return Ok(());
                }
            }
        }

        fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
            wire.extend_from_slice(&buffers.out[..buffers.written]);
            buffers.written = 0;
            Ok(())
        }

        fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
            Err("0-RTT data is left to the buffered connections".into())
        }

        fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
            let UnbufferedStatus { state, .. } = self.0.process_tls_records(&mut []);
            let ConnectionState::WriteTraffic(mut traffic) = state? else {
                return Err("not ready to send".into());
            };
            buffers.written += traffic.encrypt(data, &mut buffers.out[buffers.written..])?;
            Ok(())
        }

        fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
            loop {
                let received = &mut buffers.received[buffers.start..buffers.end];
                let UnbufferedStatus { mut discard, state, .. } =
                    self.0.process_tls_records(received);
                match state? {
                    ConnectionState::ReadTraffic(mut traffic) => {
                        while let Some(record) = traffic.next_record() {
                            let record = record?;
                            sink(record.payload);
                            discard += record.discard;
                        }
                    }
                    ConnectionState::WriteTraffic(_) => {
                        buffers.start += discard;
                        return Ok(());
                    }
                    other => return Err(format!("{other:?} among data").into()),
                }
                buffers.start += discard;
            }
        }
    };
}

impl Endpoint for Client {
    both_ends!();

    fn outcome(&self) -> Result<Outcome> {
        let tls13 = self.0.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let tickets = tls13.then(|| self.0.tls13_tickets_received());
        Ok(Outcome { tickets, ..outcome(&self.0)? })
    }
}

impl Endpoint for Server {
    both_ends!();

    fn outcome(&self) -> Result<Outcome> {
        let client_certificate = Some(self.0.peer_certificates().is_some());
        Ok(Outcome { client_certificate, ..outcome(&self.0)? })
    }
}
