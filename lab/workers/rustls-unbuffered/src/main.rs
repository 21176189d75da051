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
    Wire, serve,
};
use rustls::ProtocolVersion;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use configuration::{Configured, about, outcome, provider};

fn main() -> ExitCode {
    serve(Driven::<Rustls>::new())
}

struct Rustls(Configured);

impl Library for Rustls {
    type Client = Client;
    type Server = Server;

    fn about() -> About {
        about("unbuffered connections")
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, Unable> {
        if row.early_data > 0 {
            return Err(Unable::cannot("0-RTT data is left to the buffered connections"));
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

    fn load(&self, _: &Row, _: &Material) -> std::result::Result<Loaded<Self>, Unable> {
        Err(Unable::cannot("it loads what the worker rustls loads, in the same way"))
    }
}

struct Client(UnbufferedClientConnection);

struct Server(UnbufferedServerConnection);

/// What both ends do alike; the two types of connection have no trait in common.
macro_rules! both_ends {
    () => {
        type Buffers = Wire;

        fn buffers(_: &Row, at_once: usize) -> Wire {
            Wire::new(at_once)
        }

        fn deliver(&mut self, wire: &mut Wire, bytes: &[u8]) -> Result<usize> {
            Ok(wire.deliver(bytes))
        }

        fn advance(&mut self, wire: &mut Wire) -> Result<()> {
            loop {
                let (received, room) = wire.both();
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
                wire.use_up(discard);
                wire.fill(written);
                if done {
                    return Ok(());
                }
            }
        }

        fn collect(&mut self, wire: &mut Wire, sent: &mut Vec<u8>) -> Result<()> {
            wire.collect(sent);
            Ok(())
        }

        fn send_early(&mut self, _: &mut Wire, _: &[u8]) -> Result<()> {
            Err("0-RTT data is left to the buffered connections".into())
        }

        fn send(&mut self, wire: &mut Wire, data: &[u8]) -> Result<()> {
            let UnbufferedStatus { state, .. } = self.0.process_tls_records(&mut []);
            let ConnectionState::WriteTraffic(mut traffic) = state? else {
                return Err("not ready to send".into());
            };
            let written = traffic.encrypt(data, wire.both().1)?;
            wire.fill(written);
            Ok(())
        }

        fn receive(&mut self, wire: &mut Wire, sink: Sink<'_>) -> Result<()> {
            loop {
                let UnbufferedStatus { mut discard, state, .. } =
                    self.0.process_tls_records(wire.both().0);
                match state? {
                    ConnectionState::ReadTraffic(mut traffic) => {
                        while let Some(record) = traffic.next_record() {
                            let record = record?;
                            sink(record.payload);
                            discard += record.discard;
                        }
                    }
                    ConnectionState::WriteTraffic(_) => {
                        wire.use_up(discard);
                        return Ok(());
                    }
                    other => return Err(format!("{other:?} among data").into()),
                }
                wire.use_up(discard);
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
