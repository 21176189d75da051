//! Connections to a server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use h3::client::SendRequest;
use hyper::body::Bytes;
use quinn::{Connecting, ConnectionError, Endpoint, TokioRuntime, TransportConfig};
use tercel::ech::Offer;
use tercel::{ClientConfig, ConnectionInfo, ServerName};
use tercel_quinn::{QuicClientConfig, endpoint_config};
use tokio::time::timeout;

use super::failure::{Failure, handshake_result, http_error};
use super::socket::ClientSocket;
use super::streams::{QuicConnection, QuicOpener};

/// A UDP socket for connections to one server.
pub(crate) struct Client {
    endpoint: Endpoint,
    socket: Arc<ClientSocket>,
    server: SocketAddr,
}

/// A connection whose handshake is complete.
pub(crate) struct Established {
    pub(crate) connection: quinn::Connection,
    pub(crate) info: Arc<ConnectionInfo>,
}

/// A connection over which early data can be sent, before the handshake is complete.
pub(crate) struct EarlyConnection {
    pub(crate) connection: quinn::Connection,
    accepted: quinn::ZeroRttAccepted,
    socket: Arc<ClientSocket>,
}

/// A connection, with or without early data.
pub(crate) enum Opened {
    Established(Established),
    Early(EarlyConnection),
}

/// HTTP/3 on a connection.
pub(crate) struct Http {
    /// Processes what the server sends, while it is polled.
    pub(crate) driver: Box<h3::client::Connection<QuicConnection, Bytes>>,
    /// The driver closes the connection when this is dropped.
    pub(crate) sender: SendRequest<QuicOpener, Bytes>,
}

impl Http {
    /// Begins HTTP/3.
    pub(crate) async fn begin(connection: &quinn::Connection) -> Result<Self, String> {
        let mut builder = h3::client::builder();
        builder.max_field_section_size(super::MAX_HEAD);
        // Boxed, because these values are large.
        let begun = Box::pin(builder.build(QuicConnection::new(connection.clone()))).await;
        let (driver, sender) = begun.map_err(|error| http_error(&error, connection))?;
        Ok(Self { driver: Box::new(driver), sender })
    }
}

/// Returns the configuration of connections to servers at this port.
pub(crate) fn client_config(
    tls: Arc<ClientConfig>,
    port: u16,
) -> anyhow::Result<quinn::ClientConfig> {
    configured(QuicClientConfig::try_from(tls)?.port(port))
}

/// As [`client_config`], for one server, with this offer of Encrypted ClientHello.
pub(crate) fn client_config_with_ech(
    tls: Arc<ClientConfig>,
    port: u16,
    offer: Offer,
) -> anyhow::Result<quinn::ClientConfig> {
    configured(QuicClientConfig::try_from(tls)?.port(port).ech(offer))
}

fn configured(config: QuicClientConfig) -> anyhow::Result<quinn::ClientConfig> {
    let mut config = tercel_quinn::client_config(config);
    let mut transport = TransportConfig::default();
    // Each step of the program has a time limit of its own. Servers open no bidirectional streams.
    transport.max_idle_timeout(None).max_concurrent_bidi_streams(0_u32.into());
    transport.max_concurrent_uni_streams(MAX_UNI_STREAMS.into());
    transport.datagram_receive_buffer_size(None);
    config.transport_config(Arc::new(transport));
    Ok(config)
}

impl Client {
    /// Creates a client of this server. It has to be called within a tokio runtime.
    pub(crate) fn new(server: SocketAddr) -> io::Result<Self> {
        let socket = Arc::new(ClientSocket::new(server)?);
        let config = endpoint_config().map_err(io::Error::other)?;
        let abstract_socket = Arc::clone(&socket) as _;
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new_with_abstract_socket(config, None, abstract_socket, runtime)?;
        Ok(Self { endpoint, socket, server })
    }

    /// Connects, and completes the handshake within the time limit.
    pub(crate) async fn connect(
        &self,
        config: &quinn::ClientConfig,
        name: &ServerName<'_>,
        limit: Duration,
    ) -> Result<Established, Failure> {
        let connecting = self.start(config, name)?;
        self.within(limit, establish(connecting)).await
    }

    /// Like [`Self::connect`], but returns at once if the session permits early data.
    pub(crate) async fn connect_early(
        &self,
        config: &quinn::ClientConfig,
        name: &ServerName<'_>,
        limit: Duration,
    ) -> Result<Opened, Failure> {
        match self.start(config, name)?.into_0rtt() {
            Ok((connection, accepted)) => {
                let socket = Arc::clone(&self.socket);
                Ok(Opened::Early(EarlyConnection { connection, accepted, socket }))
            }
            Err(connecting) => {
                self.within(limit, establish(connecting)).await.map(Opened::Established)
            }
        }
    }

    /// Waits until closed connections have sent what they have to send.
    pub(crate) async fn finish(&self) {
        let _ = timeout(LAST_PACKETS, self.endpoint.wait_idle()).await;
    }

    fn start(
        &self,
        config: &quinn::ClientConfig,
        name: &ServerName<'_>,
    ) -> Result<Connecting, Failure> {
        self.socket.reset();
        let connecting = self.endpoint.connect_with(config.clone(), self.server, &name.to_str());
        connecting.map_err(|error| Failure::Local(error.to_string()))
    }

    async fn within<T>(
        &self,
        limit: Duration,
        handshake: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        within(&self.socket, limit, handshake).await
    }
}

impl EarlyConnection {
    /// Completes the handshake within the time limit. If the server rejected the early data, which
    /// the parameters state, the streams that were opened before are lost.
    pub(crate) async fn complete(self, limit: Duration) -> Result<Established, Failure> {
        let Self { connection, accepted, socket } = self;
        let handshake = async {
            accepted.await;
            established(connection)
        };
        within(&socket, limit, handshake).await
    }
}

async fn within<T>(
    socket: &ClientSocket,
    limit: Duration,
    handshake: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        ended = timeout(limit, handshake) => ended.unwrap_or(Err(Failure::TimedOut)),
        () = socket.refused() => Err(Failure::Refused),
    }
}

async fn establish(mut connecting: Connecting) -> Result<Established, Failure> {
    // If the handshake fails, the data can be read only here.
    let data = connecting.handshake_data().await;
    match connecting.await {
        Ok(connection) => established(connection),
        Err(error) => Err(Failure::new(error, handshake_result(data.ok()).err().flatten())),
    }
}

/// The result of a handshake that has ended.
fn established(connection: quinn::Connection) -> Result<Established, Failure> {
    match handshake_result(connection.handshake_data()) {
        Ok(info) => Ok(Established { connection, info }),
        Err(tls) => {
            let error = connection.close_reason().unwrap_or(ConnectionError::LocallyClosed);
            Err(Failure::new(error, tls))
        }
    }
}

/// Control streams and those of QPACK, and some for extensions. RFC 9114 6.2
const MAX_UNI_STREAMS: u32 = 16;

/// The time for the packet with which a connection is closed.
const LAST_PACKETS: Duration = Duration::from_millis(20);
