#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tercel_tokio::tercel::pki::tls_server_end_point;
use tercel_tokio::tercel::{ClientConfig, ServerName};
use tercel_tokio::{Connector, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{self, ChannelBinding, MakeTlsConnect, TlsConnect};

pub use tercel_tokio::{self, tercel};

/// Makes the TLS connections of `tokio_postgres::connect` and of connection pools on it.
///
/// PostgreSQL itself resumes no sessions, but a TLS terminator in front of it may. With a resumed
/// session, channel binding uses the server's certificate of the original handshake. If the
/// certificate was replaced since, channel binding fails until the session expires. Configure
/// [`without_resumption`](tercel::client::ClientConfigBuilder::without_resumption) for servers
/// behind such a terminator.
#[derive(Clone, Debug)]
pub struct MakeTlsConnector {
    connector: Connector,
}

impl MakeTlsConnector {
    /// A connector with this configuration, and a time limit of 15 seconds for a handshake.
    #[must_use]
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Connector::new(config).into()
    }
}

impl From<Connector> for MakeTlsConnector {
    /// Uses the time limit, the port and the [answers](Connector::answers) of `connector`.
    fn from(connector: Connector) -> Self {
        Self { connector }
    }
}

impl<S> MakeTlsConnect<S> for MakeTlsConnector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = PostgresStream<S>;
    type TlsConnect = ServerConnector;
    type Error = Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<ServerConnector, Infallible> {
        // The host is empty for a Unix socket, and the connection may be without TLS, so a host
        // that is no name is an error only of the handshake.
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| format!("the host {host:?}: {error}"));
        Ok(ServerConnector { connector: self.connector.clone(), name })
    }
}

/// A connector for the server with one name, which makes one TLS connection.
#[derive(Clone, Debug)]
pub struct ServerConnector {
    connector: Connector,
    /// The name, or why the host is none.
    name: Result<ServerName<'static>, String>,
}

impl<S> TlsConnect<S> for ServerConnector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = PostgresStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<PostgresStream<S>>> + Send>>;

    fn connect(self, transport: S) -> Self::Future {
        Box::pin(async move {
            let refused = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
            let name = self.name.map_err(refused)?;
            self.connector.connect(name, transport).await.map(PostgresStream)
        })
    }
}

/// A TLS connection to a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresStream<S>(TlsStream<S>);

impl<S> PostgresStream<S> {
    /// The TLS stream, for its negotiated parameters.
    #[must_use]
    pub fn get_ref(&self) -> &TlsStream<S> {
        &self.0
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> tls::TlsStream for PostgresStream<S> {
    /// The digest of the server's certificate. None if the certificate's signature algorithm has no
    /// hash of its own, for which the binding is undefined. RFC 5929 4.1
    fn channel_binding(&self) -> ChannelBinding {
        let leaf = self.0.info().peer_chain().first();
        match leaf.and_then(|leaf| tls_server_end_point(leaf).ok().flatten()) {
            Some(digest) => ChannelBinding::tls_server_end_point(digest),
            None => ChannelBinding::none(),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for PostgresStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for PostgresStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }
}
