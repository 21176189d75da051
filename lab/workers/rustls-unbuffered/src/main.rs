//! Worker for rustls 0.23 with unbuffered connections, configured like the worker `rustls`.
//!
//! Records are decrypted in place, and encrypted through a vector into the caller's buffer.

#![forbid(unsafe_code)]

#[path = "../../rustls/src/configuration.rs"]
mod configuration;

use std::process::ExitCode;
use std::sync::Arc;

use lab_scenario::{
    About, Endpoint, Files, Library, LibraryWorker, LoadedObject, Material, Outcome, PrepareError,
    Result, Row, SendBuffer, Sink, TransportBuffers, serve,
};
use rustls::ProtocolVersion;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use configuration::{Configured, about, outcome, provider};

fn main() -> ExitCode {
    serve(LibraryWorker::<Rustls>::new())
}

struct Rustls(Configured);

impl Library for Rustls {
    type Client = Client;
    type Server = Server;

    fn about() -> About {
        about("unbuffered connections")
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        if row.early_data > 0 {
            return Err(PrepareError::unsupported("see the worker rustls for early data"));
        }
        Ok(Self(Configured::new(row, files, &Arc::new(provider(row)?))?))
    }

    fn client(&self) -> Result<Client> {
        Ok(Client(UnbufferedClientConnection::new(
            Arc::clone(&self.0.client),
            self.0.name.clone(),
        )?))
    }

    fn server(&self) -> Result<Server> {
        Ok(Server(UnbufferedServerConnection::new(Arc::clone(&self.0.server))?))
    }

    fn load(&self, _: &Row, _: &Material) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        Err(PrepareError::unsupported("identical to the worker rustls"))
    }
}

/// More bytes than a record adds to its content.
const RECORD_OVERHEAD: usize = 32;

/// Buffers that a thread uses for all its connections.
struct Buffers {
    wire: TransportBuffers,
    sent: SendBuffer,
}

struct Client(UnbufferedClientConnection);

struct Server(UnbufferedServerConnection);

/// Code for both ends, because the two connection types have no common trait.
macro_rules! both_ends {
    () => {
        type Buffers = Buffers;

        fn buffers(row: &Row, capacity: usize) -> Buffers {
            Buffers { wire: TransportBuffers::new(capacity), sent: SendBuffer::new(row, capacity) }
        }

        fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
            Ok(buffers.wire.deliver(bytes))
        }

        fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
            let Buffers { wire, sent, .. } = buffers;
            loop {
                let (received, room) = (wire.unread(), sent.space(0));
                let UnbufferedStatus { discard, state, .. } = self.0.process_tls_records(received);
                let mut written = 0;
                let done = match state? {
                    ConnectionState::EncodeTlsData(mut message) => {
                        written = message.encode(room)?;
                        false
                    }
                    ConnectionState::TransmitTlsData(flight) => {
                        flight.done();
                        false
                    }
                    ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => true,
                    other => return Err(format!("{other:?} in a handshake").into()),
                };
                wire.consume(discard);
                sent.fill(written);
                if done {
                    return Ok(());
                }
            }
        }

        fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
            buffers.sent.collect(wire);
            Ok(())
        }

        fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
            Err("see the worker rustls for early data".into())
        }

        fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
            let UnbufferedStatus { state, .. } = self.0.process_tls_records(&mut []);
            let ConnectionState::WriteTraffic(mut traffic) = state? else {
                return Err("not ready to send".into());
            };
            for piece in data.chunks(buffers.sent.piece_size()) {
                let records = piece.len().div_ceil(16 << 10);
                let room = buffers.sent.space(piece.len() + records * RECORD_OVERHEAD);
                let written = traffic.encrypt(piece, room)?;
                buffers.sent.fill(written);
            }
            Ok(())
        }

        fn receive(&mut self, Buffers { wire, .. }: &mut Buffers, sink: Sink<'_>) -> Result<()> {
            loop {
                let UnbufferedStatus { mut discard, state, .. } =
                    self.0.process_tls_records(wire.unread());
                match state? {
                    ConnectionState::ReadTraffic(mut traffic) => {
                        while let Some(record) = traffic.next_record() {
                            let record = record?;
                            sink(record.payload);
                            discard += record.discard;
                        }
                    }
                    ConnectionState::WriteTraffic(_) => {
                        wire.consume(discard);
                        return Ok(());
                    }
                    other => return Err(format!("{other:?} among data").into()),
                }
                wire.consume(discard);
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
