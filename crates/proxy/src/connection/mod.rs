//! One connection from accept to close.
//!
//! State that is needed only for a time (handshake, connecting) is in boxed futures, which are
//! freed; only the [`ProxiedConnection`] remains.

pub(crate) mod backend_connect;
pub(crate) mod early_data;
pub(crate) mod proxy_protocol;

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use tercel_tokio::TlsStream;
use tokio::net::TcpStream;

use crate::backend::endpoint::BackendStream;
use crate::config::{Connect, OnTruncation};
use crate::connection::backend_connect::BackendConnector;
use crate::connection::early_data::{BackendState, EarlyDataBackend, EarlyExchangeResult};
use crate::observability::metrics::labels::{BackendFailure, ConnectionRefusal};
use crate::relay::proxied_connection::{CloseReason, ProxiedConnection};
use crate::worker::connection_limits::Permit;
use crate::worker::{ConnectionGuard, WorkerConfig, WorkerContext};
use proxy_protocol::Addresses;

/// Serves an accepted connection until it is closed.
pub(crate) async fn serve(
    accepted: AcceptedConnection,
    transport: TcpStream,
    _guard: ConnectionGuard,
) {
    let Some(mut established) = Box::pin(accepted.establish(transport)).await else { return };
    if established.waits_for_client {
        if let Err(reason) = established.connection.wait_for_first_byte().await {
            return Box::pin(established.connection.close(&reason)).await;
        }
    }
    let Some((mut connection, backend)) = Box::pin(established.connect()).await else { return };
    let reason = connection.relay(backend).await;
    Box::pin(close(connection, reason)).await;
}

/// An accepted connection before its handshake.
pub(crate) struct AcceptedConnection {
    pub(crate) worker: Rc<WorkerContext>,
    pub(crate) config: Rc<WorkerConfig>,
    pub(crate) client: SocketAddr,
    /// Index of the listener in the configuration.
    pub(crate) listener: usize,
    pub(crate) permit: Permit,
}

/// A connection whose handshake is complete.
struct EstablishedConnection {
    connection: Box<ProxiedConnection>,
    /// Whether to connect to the backend only after the client has sent data.
    waits_for_client: bool,
    /// The state of the backend connection, if early data was forwarded before.
    early: Option<BackendState>,
    /// Whether there is early data to be forwarded after the handshake.
    deferred_early_data: bool,
    /// Connects to a backend of the configuration with which the connection was accepted.
    connector: BackendConnector,
}

impl AcceptedConnection {
    /// Reads the PROXY header, if the listener requires one, and does the handshake.
    async fn establish(mut self, mut transport: TcpStream) -> Option<Box<EstablishedConnection>> {
        let started = Instant::now();
        let listener = self.config.listener(self.listener)?;
        let mut addresses = None;
        if listener.accept_proxy_protocol {
            match self.proxy_header(&mut transport).await {
                Ok(read) => addresses = read,
                Err(error) => {
                    self.worker.shard.refused(ConnectionRefusal::ProxyHeader);
                    self.log_failure(&error, "PROXY header rejected");
                    return None;
                }
            }
        }
        if let Some(addresses) = addresses {
            self.client = addresses.source;
        }
        let limits = self.config.limits(self.listener);
        if let Err(reason) = self.permit.count_client(self.client.ip(), limits) {
            self.worker.shard.refused(reason.into());
            tracing::debug!(client = %self.client, "connection refused: {reason}");
            return None;
        }
        // The time that the PROXY header took is subtracted.
        let remaining = self.config.active.timeouts.handshake.saturating_sub(started.elapsed());
        let mut acceptor = Cow::Borrowed(&listener.acceptor);
        if listener.accept_proxy_protocol {
            acceptor = Cow::Owned(listener.acceptor.clone().time_limit(Some(remaining)));
        }
        let mut early = None;
        let accepted = if listener.early_data_at_once {
            addresses = addresses.or_else(|| socket_addresses(&transport));
            let (worker, config) = (Rc::clone(&self.worker), Rc::clone(&self.config));
            let backend =
                EarlyDataBackend::new(worker, config, self.client, self.listener, addresses);
            let backend = early.insert(backend);
            acceptor.accept_with_early_data(transport, backend).await
        } else {
            acceptor.accept(transport).await
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                self.worker.shard.handshake_failed(&error);
                self.log_failure(&error, "handshake failed");
                return None;
            }
        };
        self.worker.shard.handshake_done(stream.info(), started.elapsed());
        let early = match early {
            Some(early) => early.finish().await,
            None => None,
        };
        self.into_established(stream, addresses, early)
    }

    /// Applies the settings of the route that the handshake selected.
    fn into_established(
        self,
        mut stream: TlsStream<TcpStream>,
        addresses: Option<Addresses>,
        early_result: Option<EarlyExchangeResult>,
    ) -> Option<Box<EstablishedConnection>> {
        let listener = self.config.listener(self.listener)?;
        let number = listener.names.find(stream.info().server_name.as_deref())?;
        let route = listener.routes.get(number)?;
        let info = stream.info();
        tracing::debug!(
            client = %self.client,
            server_name = info.server_name,
            version = ?info.version,
            suite = ?info.cipher_suite,
            group = ?info.group,
            resumed = info.resumed,
            early_data = ?info.early_data,
            "connected"
        );
        let late = stream.take_early_data();
        let info = stream.info();
        let (mut first, mut early, mut client_sent) = (Vec::new(), None, !late.is_empty());
        if let Some(EarlyExchangeResult { unsent, is_answered, backend_state }) = early_result {
            (first, early, client_sent) =
                (unsent, Some(backend_state), client_sent || !is_answered);
        } else if route.send_proxy_protocol {
            let addresses = addresses.or_else(|| socket_addresses(stream.transport()))?;
            first = proxy_protocol::write::header(addresses, info);
        }
        let protocol = info.alpn.as_deref();
        let http = matches!(protocol, Some(b"h2" | b"http/1.1" | b"http/1.0"));
        let deferred_early_data = early.is_none() && !late.is_empty();
        let waits_for_client = early.is_none()
            && !deferred_early_data
            && match route.connect {
                Connect::Auto => http,
                Connect::AtOnce => false,
                Connect::FirstByte => true,
            };
        first.extend(late);
        let truncation_is_eof = match route.on_truncation {
            OnTruncation::Auto => http,
            OnTruncation::Reset => false,
            OnTruncation::Close => true,
        };
        drop_unneeded_info(&mut stream);
        let Self { worker, config, client, listener, permit } = self;
        worker.shard.opened();
        let mut connection =
            ProxiedConnection::new(stream, first, http, Rc::clone(&worker), permit);
        connection.set_truncation_is_eof(truncation_is_eof);
        if client_sent {
            connection.mark_client_sent();
        }
        let (listener, route) = (u32::try_from(listener).ok()?, u32::try_from(number).ok()?);
        let connector = BackendConnector { worker, config, client, listener, route };
        Some(Box::new(EstablishedConnection {
            connection,
            waits_for_client,
            early,
            deferred_early_data,
            connector,
        }))
    }

    async fn proxy_header(&self, transport: &mut TcpStream) -> io::Result<Option<Addresses>> {
        let listener = self.config.listener(self.listener);
        if !listener.is_some_and(|listener| listener.trusts_proxy_header_from(self.client.ip())) {
            let reason = "the peer may not send a PROXY header";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        let limit = self.config.active.timeouts.handshake;
        let header = proxy_protocol::read::header(transport);
        match tokio::time::timeout(limit, header).await {
            Ok(read) => read,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn log_failure(&self, error: &io::Error, what: &str) {
        if let Some(suppressed) = self.worker.log_limit.admit(Instant::now()) {
            tracing::info!(client = %self.client, %error, suppressed, "{what}");
        }
    }
}

impl EstablishedConnection {
    /// Connects to the first reachable backend. If no backend is reachable, close_notify is sent.
    async fn connect(self: Box<Self>) -> Option<(Box<ProxiedConnection>, BackendStream)> {
        let Self { mut connection, early, deferred_early_data, connector, .. } = *self;
        let backend = match early {
            None => connector.connect().await,
            Some(BackendState::Connected(backend)) => Some(backend),
            Some(BackendState::Unreachable) => None,
            Some(BackendState::Failed(error)) => {
                close(connection, CloseReason::BackendError(error)).await;
                return None;
            }
        };
        match &backend {
            Some(_) if deferred_early_data => {
                connection.worker().shard.early_data_forwarded_after_handshake();
            }
            Some(_) => {}
            None => connection.close_client().await,
        }
        backend.map(|backend| (connection, backend))
    }
}

async fn close(connection: Box<ProxiedConnection>, reason: CloseReason) {
    match &reason {
        CloseReason::BackendError(error) => {
            connection.worker().shard.backend_failed(BackendFailure::of(error));
            tracing::debug!(%error, "connection to backend ended with an error");
        }
        CloseReason::ClientError(error) => {
            tracing::debug!(%error, "connection of client ended with an error");
        }
        CloseReason::Finished | CloseReason::IdleTimeout | CloseReason::Drained => {}
    }
    connection.close(&reason).await;
}

/// Frees negotiated parameters that are not needed any more.
fn drop_unneeded_info(stream: &mut TlsStream<TcpStream>) {
    let info = stream.info_mut();
    drop(info.take_peer_chain());
    info.server_name = None;
    info.alpn = None;
    info.ocsp_response = None;
    info.signed_certificate_timestamps = None;
}

fn socket_addresses(transport: &TcpStream) -> Option<Addresses> {
    let (source, destination) = (transport.peer_addr().ok()?, transport.local_addr().ok()?);
    Some(Addresses { source, destination })
}
