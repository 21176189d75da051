//! One connection from accept to close.
//!
//! State that is needed only for a time (handshake, connecting) is in boxed futures, which are
//! freed; only the [`ProxiedConnection`] remains.

pub(crate) mod backend_connect;
pub(crate) mod client_hello;
pub(crate) mod early_data;
mod ech_front;
pub(crate) mod proxy_protocol;

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tercel_tokio::TlsStream;
use tokio::net::TcpStream;

use crate::active_config::ActiveListener;
use crate::active_config::server_names::HelloSelector;
use crate::backend::endpoint::BackendStream;
use crate::config::{Connect, OnTruncation};
use crate::connection::backend_connect::BackendConnector;
use crate::connection::client_hello::{PassthroughHello, Selected, StartedHandshake};
use crate::connection::early_data::{BackendState, EarlyDataBackend, EarlyExchangeResult};
use crate::connection::ech_front::Opened;
use crate::observability::metrics::labels::{BackendFailure, ConnectionRefusal, HandshakeFailure};
use crate::relay::passthrough::PassthroughConnection;
use crate::relay::proxied_connection::{CloseReason, ProxiedConnection};
use crate::worker::connection_limits::Permit;
use crate::worker::log_limits::LogKind;
use crate::worker::{ConnectionGuard, WorkerConfig, WorkerContext};
use proxy_protocol::Addresses;

/// Serves an accepted connection until it is closed.
pub(crate) async fn serve(
    accepted: AcceptedConnection,
    transport: TcpStream,
    _guard: ConnectionGuard,
) {
    let mut established = match Box::pin(accepted.begin(transport)).await {
        None => return,
        Some(Begun::Passthrough(connection)) => return connection.relay().await,
        Some(Begun::Established(established)) => established,
    };
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

/// A connection that can be relayed.
enum Begun {
    Established(Box<EstablishedConnection>),
    /// The route does not terminate TLS.
    Passthrough(Box<PassthroughConnection>),
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
    /// Reads the PROXY header and the ClientHello, as far as the listener requires it, and does the
    /// handshake, unless the route does not terminate TLS.
    async fn begin(mut self, mut transport: TcpStream) -> Option<Begun> {
        let started = Instant::now();
        let config = Rc::clone(&self.config);
        let listener = config.listener(self.listener)?;
        let addresses = self.admit(listener, &mut transport).await?;
        let mut hello = None;
        if let Some(selector) = &listener.hello_selector {
            let mut selected = self.read_hello(selector, &mut transport, started).await?;
            if let Selected::Passthrough(hello) = &selected {
                if hello.is_encrypted {
                    match self.open_inner(hello, &mut transport).await? {
                        Opened::Inner(opened) => {
                            return self
                                .forward_inner(*opened, transport, addresses, started)
                                .await;
                        }
                        // The key was removed in the meantime, or the ClientHello was decrypted by
                        // another client-facing server.
                        Opened::Outer => {
                            let again = client_hello::select_again(selector, &hello.received);
                            selected = again.map_err(|error| self.fail_handshake(&error)).ok()?;
                        }
                    }
                }
            }
            match selected {
                Selected::Terminate(handshake) => hello = Some(handshake),
                Selected::Passthrough(hello) => {
                    return self.pass_through(hello, transport, addresses).await;
                }
            }
        }
        let established = self.establish(transport, hello, addresses, started).await?;
        Some(Begun::Established(established))
    }

    /// Reads the PROXY header, if the listener requires one, and counts the client's connection.
    async fn admit(
        &mut self,
        listener: &ActiveListener,
        transport: &mut TcpStream,
    ) -> Option<Option<Addresses>> {
        let mut addresses = None;
        if listener.accept_proxy_protocol {
            match self.proxy_header(transport).await {
                Ok(read) => addresses = read,
                Err(error) => {
                    self.worker.shard.refused(ConnectionRefusal::ProxyHeader);
                    self.log_failure(LogKind::ProxyHeader, &error, "PROXY header rejected");
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
        Some(addresses)
    }

    /// Reads the ClientHello within the time of the handshake.
    async fn read_hello(
        &self,
        selector: &HelloSelector,
        transport: &mut TcpStream,
        started: Instant,
    ) -> Option<Selected> {
        let limit = self.handshake_time_left(started);
        let read = tokio::time::timeout(limit, client_hello::read(selector, transport)).await;
        let read = read.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        read.map_err(|error| self.fail_handshake(&error)).ok()
    }

    /// Connects a client, whose TLS is not terminated here, to a backend of its route.
    async fn pass_through(
        self,
        hello: PassthroughHello,
        transport: TcpStream,
        addresses: Option<Addresses>,
    ) -> Option<Begun> {
        let PassthroughHello { route: number, server_name, received, .. } = hello;
        let route = self.config.listener(self.listener)?.routes.get(number)?;
        let mut first = Vec::new();
        if route.send_proxy_protocol {
            let addresses = addresses.or_else(|| socket_addresses(&transport))?;
            first = proxy_protocol::write::passthrough_header(addresses, server_name.as_deref());
        }
        tracing::debug!(client = %self.client, ?server_name, "passed through");
        self.worker.shard.passed_through();
        self.worker.shard.relayed_through(u64::try_from(received.len()).unwrap_or(0), 0);
        first.extend(received);
        let (connector, permit) = self.into_connector(number)?;
        let backend = connector.connect().await?;
        let worker = connector.worker;
        let connection = PassthroughConnection::new(transport, backend, first, worker, permit);
        Some(Begun::Passthrough(connection))
    }

    fn into_connector(self, route: usize) -> Option<(BackendConnector, Permit)> {
        let connector = self.connector(route)?;
        Some((connector, self.permit))
    }

    fn connector(&self, route: usize) -> Option<BackendConnector> {
        let (worker, config) = (Rc::clone(&self.worker), Rc::clone(&self.config));
        let (listener, route) = (u32::try_from(self.listener).ok()?, u32::try_from(route).ok()?);
        Some(BackendConnector { worker, config, client: self.client, listener, route })
    }

    /// Does the handshake, or continues the one that has read the ClientHello.
    async fn establish(
        self,
        transport: TcpStream,
        hello: Option<Box<StartedHandshake>>,
        mut addresses: Option<Addresses>,
        started: Instant,
    ) -> Option<Box<EstablishedConnection>> {
        let listener = self.config.listener(self.listener)?;
        let mut acceptor = Cow::Borrowed(&listener.acceptor);
        if listener.accept_proxy_protocol || hello.is_some() {
            // The time that the PROXY header and the ClientHello took is subtracted.
            let remaining = self.handshake_time_left(started);
            acceptor = Cow::Owned(listener.acceptor.clone().time_limit(Some(remaining)));
        }
        let mut early = None;
        if listener.early_data_at_once {
            addresses = addresses.or_else(|| socket_addresses(&transport));
            let (worker, config) = (Rc::clone(&self.worker), Rc::clone(&self.config));
            early =
                Some(EarlyDataBackend::new(worker, config, self.client, self.listener, addresses));
        }
        let accepted = match (hello.map(|hello| *hello), &mut early) {
            (None, None) => acceptor.accept(transport).await,
            (None, Some(backend)) => acceptor.accept_with_early_data(transport, backend).await,
            (Some(StartedHandshake { handshake, received }), None) => {
                acceptor.accept_started(transport, handshake, received).await
            }
            (Some(StartedHandshake { handshake, received }), Some(backend)) => {
                let (early, transport) = (backend, transport);
                acceptor.accept_started_with_early_data(transport, handshake, received, early).await
            }
        };
        let stream = accepted.map_err(|error| self.fail_handshake(&error)).ok()?;
        self.worker.shard.handshake_done(stream.info(), started.elapsed());
        let early = match early {
            Some(early) => early.finish().await,
            None => None,
        };
        self.into_established(stream, addresses, early)
    }

    fn handshake_time_left(&self, started: Instant) -> Duration {
        self.config.active.timeouts.handshake.saturating_sub(started.elapsed())
    }

    fn fail_handshake(&self, error: &io::Error) {
        self.worker.shard.handshake_failed(error);
        let kind = LogKind::Handshake(HandshakeFailure::of(error));
        self.log_failure(kind, error, "handshake failed");
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
            ech = ?info.ech,
            outer_server_name = info.outer_server_name(),
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
        let (connector, permit) = self.into_connector(number)?;
        let worker = &connector.worker;
        worker.shard.opened();
        let mut connection = ProxiedConnection::new(stream, first, http, Rc::clone(worker), permit);
        connection.set_truncation_is_eof(truncation_is_eof);
        if client_sent {
            connection.mark_client_sent();
        }
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

    fn log_failure(&self, kind: LogKind, error: &io::Error, what: &str) {
        if let Some(suppressed) = self.worker.log_limits.admit(kind, Instant::now()) {
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
