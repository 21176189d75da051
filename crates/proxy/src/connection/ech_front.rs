//! The client-facing server of split mode: the inner ClientHello is forwarded to a backend.
//! RFC 9849 3.1, 7.1

use std::io;
use std::time::{Duration, Instant};

use tercel::Error;
use tercel::ech::{Front, FrontStep, InnerHello};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client_hello::{PassthroughHello, alert_record, failure};
use super::proxy_protocol::{self, Addresses};
use super::{AcceptedConnection, Begun, socket_addresses};
use crate::backend::endpoint::BackendStream;
use crate::observability::metrics::labels::{BackendFailure, EchResult};
use crate::relay::passthrough::PassthroughConnection;
use crate::worker::WorkerContext;

/// The result of decrypting a ClientHello.
pub(super) enum Opened {
    Inner(Box<OpenedHello>),
    /// No key opens it.
    Outer,
}

/// A decrypted ClientHello.
pub(super) struct OpenedHello {
    route: usize,
    front: Front,
    inner: InnerHello,
    /// The bytes for the backend: the inner ClientHello, and what follows.
    records: Vec<u8>,
}

/// The reason why the connection ended before the handshake needed no more decryption.
enum Failure {
    /// The client breaks a rule.
    Protocol(Error),
    Client(io::Error),
    Backend(io::Error),
}

/// The number of bytes that are read at once. A ClientHello fits.
const READ_SIZE: usize = 4096;

/// How long to wait for a client to accept an alert.
const ALERT_TIME: Duration = Duration::from_secs(2);

impl AcceptedConnection {
    /// Decrypts the ClientHello. If the inner one breaks a rule, the client gets an alert.
    pub(super) async fn open_inner(
        &self,
        hello: &PassthroughHello,
        transport: &mut TcpStream,
    ) -> Option<Opened> {
        let Some(keys) = self.config.active.ech_keys() else { return Some(Opened::Outer) };
        let mut front = Front::new(keys);
        let opened = front.open(&hello.received).and_then(|step| match step {
            FrontStep::Inner(inner) => {
                let mut records = inner.records().to_vec();
                let rest = hello.received.get(inner.consumed()..).unwrap_or_default();
                front.receive_from_client(rest, &mut records)?;
                Ok(Some((inner, records)))
            }
            _ => Ok(None),
        });
        match opened {
            Ok(Some((inner, records))) => {
                let route = hello.route;
                Some(Opened::Inner(Box::new(OpenedHello { route, front, inner, records })))
            }
            Ok(None) => Some(Opened::Outer),
            Err(error) => {
                self.refuse(error, transport).await;
                None
            }
        }
    }

    /// Connects the client to a backend, and relays until no ClientHello may need decryption.
    pub(super) async fn forward_inner(
        self,
        opened: OpenedHello,
        mut transport: TcpStream,
        addresses: Option<Addresses>,
        started: Instant,
    ) -> Option<Begun> {
        let OpenedHello { route: number, mut front, inner, records } = opened;
        let route = self.config.listener(self.listener)?.routes.get(number)?;
        let (server_name, outer_server_name) = (inner.server_name(), inner.outer_server_name());
        let mut first = Vec::new();
        if route.send_proxy_protocol {
            let addresses = addresses.or_else(|| socket_addresses(&transport))?;
            first = proxy_protocol::write::passthrough_header(addresses, server_name);
        }
        tracing::debug!(client = %self.client, ?server_name, ?outer_server_name, "passed through");
        self.worker.shard.ech(EchResult::Accepted);
        self.worker.shard.passed_through();
        self.worker.shard.relayed_through(u64::try_from(records.len()).unwrap_or(0), 0);
        first.extend(records);
        let limit = self.handshake_time_left(started);
        let connector = self.connector(number)?;
        let mut backend = connector.connect().await?;
        let exchange = exchange(&mut front, &mut transport, &mut backend, &first, &self.worker);
        let exchanged = match tokio::time::timeout(limit, exchange).await {
            Ok(exchanged) => exchanged,
            Err(_) => Err(Failure::Client(io::ErrorKind::TimedOut.into())),
        };
        if let Err(failure) = exchanged {
            backend.reset();
            match failure {
                Failure::Protocol(error) => self.refuse(error, &mut transport).await,
                Failure::Client(error) => self.fail_handshake(&error),
                Failure::Backend(error) => {
                    self.worker.shard.backend_failed(BackendFailure::of(&error));
                    tracing::debug!(%error, "connection to backend ended with an error");
                }
            }
            return None;
        }
        let (worker, permit) = (self.worker, self.permit);
        let connection = PassthroughConnection::new(transport, backend, Vec::new(), worker, permit);
        Some(Begun::Passthrough(connection))
    }

    /// Sends an alert and counts the failure.
    async fn refuse(&self, error: Error, transport: &mut TcpStream) {
        if let Some(alert) = error.alert() {
            send_alert(&alert_record(alert), transport).await;
        }
        self.fail_handshake(&failure(error));
    }
}

/// Sends an alert. A client may not read what the backend has sent before.
async fn send_alert(record: &[u8], transport: &mut (impl AsyncWrite + Unpin)) {
    // The error is reported whether or not the alert could be sent.
    let _ = tokio::time::timeout(ALERT_TIME, transport.write_all(record)).await;
}

/// Relays until all further bytes can be relayed unchanged, or until the client has ended.
async fn exchange(
    front: &mut Front,
    client: &mut TcpStream,
    backend: &mut BackendStream,
    first: &[u8],
    worker: &WorkerContext,
) -> Result<(), Failure> {
    backend.write_all(first).await.map_err(Failure::Backend)?;
    let [mut from_client, mut from_backend] = [(); 2].map(|()| vec![0; READ_SIZE]);
    let mut out = Vec::new();
    while !front.is_transparent() {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let count = read.map_err(Failure::Client)?;
                if count == 0 {
                    break;
                }
                out.clear();
                let received = from_client.get(..count).unwrap_or_default();
                front.receive_from_client(received, &mut out).map_err(Failure::Protocol)?;
                worker.shard.relayed_through(u64::try_from(count).unwrap_or(0), 0);
                backend.write_all(&out).await.map_err(Failure::Backend)?;
            }
            read = backend.read(&mut from_backend) => {
                let count = read.map_err(Failure::Backend)?;
                // A second ClientHello would be relayed encrypted.
                if count == 0 {
                    return Err(Failure::Backend(io::ErrorKind::UnexpectedEof.into()));
                }
                let received = from_backend.get(..count).unwrap_or_default();
                front.receive_from_backend(received);
                worker.shard.relayed_through(0, u64::try_from(count).unwrap_or(0));
                client.write_all(received).await.map_err(Failure::Client)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_its_alert_is_closed() {
        let (mut client, mut transport) = tokio::io::duplex(3);
        send_alert(&[7; 7], &mut transport).await;
        drop(transport);
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, [7; 3]);
    }
}
