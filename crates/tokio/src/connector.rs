//! The client side of handshakes.

use std::io;
use std::sync::Arc;

#[cfg(feature = "ech")]
use tercel::ech::Offer;
use tercel::{ClientConfig, EarlyData, Handshake, ServerName, Side};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::early_data::BufferedEarlyData;
#[cfg(feature = "ech")]
use crate::error::HandshakeError;
use crate::handshake::{self, HandshakeOptions, handshake_option_setters};
use crate::stream::TlsStream;

/// Makes TLS connections to servers over connected transports. Cheap to clone.
///
/// ```
/// use tercel_tokio::{Connector, TlsStream, tercel::ClientConfig};
/// use tokio::net::TcpStream;
///
/// # type BoxError = Box<dyn std::error::Error>;
/// async fn connect(host: &str, port: u16) -> Result<TlsStream<TcpStream>, BoxError> {
///     let config = ClientConfig::builder().native_roots().build()?; // once for the program
///     let transport = TcpStream::connect((host, port)).await?;
///     let name = host.to_owned().try_into()?;
///     Ok(Connector::new(config).port(port).connect(name, transport).await?)
/// }
/// ```
#[derive(Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
    options: Arc<HandshakeOptions>,
    port: Option<u16>,
}

/// A connection that was opened with early data.
#[derive(Debug)]
pub struct EarlyConnection<T> {
    /// The stream.
    pub stream: TlsStream<T>,
    /// The number of early data bytes that the server accepted, counted from the start of the early
    /// data. The application decides whether to send the rest again. 0 if no session allowed early
    /// data, or if the server rejected the early data.
    pub accepted: usize,
}

handshake_option_setters!(Connector);

impl Connector {
    /// A connector with this configuration, and a time limit of 15 seconds for a handshake.
    #[must_use]
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Self { config, options: Arc::default(), port: None }
    }

    /// Sets the port of the servers. Sessions are stored separately for each port of a server name,
    /// and separately from the sessions of connectors without a port. See
    /// [`Handshake::client_with_port`].
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Runs the handshake with the server of this name. Dropping the future closes the transport.
    ///
    /// # Errors
    /// Errors of the transport, and [`crate::HandshakeError`] as the inner error of an
    /// [`io::Error`].
    pub async fn connect<T>(
        &self,
        server: ServerName<'static>,
        transport: T,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.connect_early(server, transport, &[]).await.map(|connection| connection.stream)
    }

    /// Like [`Self::connect`], and sends `early` as early data if a session allows it and the
    /// configuration permits [`early_data`](tercel::client::ClientConfigBuilder::early_data).
    ///
    /// An attacker can record and replay early data: send only what may safely be processed twice.
    /// RFC 9846 8
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_early<T>(
        &self,
        server: ServerName<'static>,
        transport: T,
        early: &[u8],
    ) -> io::Result<EarlyConnection<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let (stream, sent) = self.complete(self.handshake(server), transport, early).await?;
        let accepted = if stream.info().early_data == EarlyData::Accepted { sent } else { 0 };
        Ok(EarlyConnection { stream, accepted })
    }

    /// Like [`Self::connect`], and offers Encrypted ClientHello: see [`tercel::ech`]. If the server
    /// rejects it, the handshake is tried once more over a new transport, with the configurations
    /// that the server sent, or without Encrypted ClientHello if it sent none that is usable. The
    /// server has then authenticated itself under the public name. `open` opens a transport.
    ///
    /// # Errors
    /// As [`Self::connect`], and the errors of `open`. [`crate::HandshakeError::EchRejected`] if
    /// the second attempt is rejected, too. RFC 9849 6.1.6
    #[cfg(feature = "ech")]
    pub async fn connect_with_ech<T, F>(
        &self,
        server: ServerName<'static>,
        offer: Offer,
        mut open: impl FnMut() -> F,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
        F: Future<Output = io::Result<T>>,
    {
        let first = self.handshake(server.clone()).with_ech(offer);
        let error = match self.complete(first, open().await?, &[]).await {
            Ok((stream, _)) => return Ok(stream),
            Err(error) => error,
        };
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
        let Some(HandshakeError::EchRejected { retry_configs }) = inner else { return Err(error) };
        let usable = retry_configs.usable();
        let offer = if usable { Offer::Configs(retry_configs.clone()) } else { Offer::None };
        let second = self.handshake(server).with_ech(offer);
        Ok(self.complete(second, open().await?, &[]).await?.0)
    }

    async fn complete<T>(
        &self,
        handshake: Handshake,
        transport: T,
        early: &[u8],
    ) -> io::Result<(TlsStream<T>, usize)>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let (side, options) = (Side::Client, &self.options);
        handshake::complete(
            side,
            handshake.into(),
            transport,
            options,
            early,
            &mut BufferedEarlyData,
        )
        .await
    }

    fn handshake(&self, server: ServerName<'static>) -> Handshake {
        let config = Arc::clone(&self.config);
        match self.port {
            None => Handshake::client(config, server),
            Some(port) => Handshake::client_with_port(config, server, port),
        }
    }
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}
