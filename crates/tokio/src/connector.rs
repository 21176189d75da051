//! The client's door.
//!
//! Must not know: how names are resolved. Next: [`crate::handshake`].

use std::io;
use std::sync::Arc;

use tercel::pki_types::ServerName;
use tercel::{ClientConfig, EarlyData, Handshake, Side};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::early::Later;
use crate::handshake::{self, Terms, terms_setters};
use crate::stream::TlsStream;

/// Connects to servers over transports that are connected already. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
    terms: Arc<Terms>,
    port: Option<u16>,
}

/// A connection that began with early data.
#[derive(Debug)]
pub struct EarlyConnection<T> {
    /// The stream.
    pub stream: TlsStream<T>,
    /// How many bytes, from the front of what was given, the server has accepted. Whatever lies behind
    /// has to be sent again, or not: that is the application's to decide. 0 if there was no session for
    /// it, or the server rejected it.
    pub accepted: usize,
}

terms_setters!(Connector);

impl Connector {
    /// With this configuration, and 15 seconds for a handshake.
    #[must_use]
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Self { config, terms: Arc::default(), port: None }
    }

    /// For servers at this port: sessions with them are kept apart from those with servers of the same name at other
    /// ports, and from those of a connector that knows no port. See [`Handshake::client_at`].
    #[must_use]
    pub fn at_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Runs the handshake with the server of this name. Dropping the future closes the transport.
    ///
    /// # Errors
    /// Those of the transport, and [`crate::HandshakeError`] as the inner error of an [`io::Error`].
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

    /// The same, with `early` sent ahead of the handshake if a session allows it and the configuration
    /// says [`early_data`](tercel::ClientConfigBuilder::early_data).
    ///
    /// Early data can be replayed by whoever records it: send only what may be acted on twice. RFC 9846 8
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
        let config = Arc::clone(&self.config);
        let handshake = match self.port {
            None => Handshake::client(config, server),
            Some(port) => Handshake::client_at(config, server, port),
        };
        let (side, terms) = (Side::Client, &self.terms);
        let (stream, sent) =
            handshake::complete(side, handshake, transport, terms, early, &mut Later).await?;
        let accepted = if stream.facts().early_data == EarlyData::Accepted { sent } else { 0 };
        Ok(EarlyConnection { stream, accepted })
    }
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}
