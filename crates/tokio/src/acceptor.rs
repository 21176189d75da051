//! The server's door.
//!
//! Must not know: listeners. Next: [`crate::handshake`].

use std::io;
use std::sync::Arc;

use tercel::{Handshake, ServerConfig, Side};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::early::{EarlyExchange, Later};
use crate::handshake::{self, Terms, terms_setters};
use crate::stream::TlsStream;

/// Accepts clients over transports that are connected already. Cheap to clone.
#[derive(Clone)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    terms: Arc<Terms>,
}

terms_setters!(Acceptor);

impl Acceptor {
    /// With this configuration, and 15 seconds for a handshake.
    #[must_use]
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self { config, terms: Arc::default() }
    }

    /// Runs the handshake with whoever is at the other end. Early data that was accepted is in
    /// [`TlsStream::take_early_data`]. Dropping the future closes the transport.
    ///
    /// # Errors
    /// Those of the transport, and [`crate::HandshakeError`] as the inner error of an [`io::Error`].
    pub async fn accept<T>(&self, transport: T) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.accept_greeting(transport, &[]).await
    }

    /// The same where the server speaks first: the client gets `greeting` ahead of all that is written to the stream.
    /// In TLS 1.3 it goes out behind the server's Finished, a round trip before the handshake is complete.
    ///
    /// That client is not authenticated yet, and whoever replays a ClientHello has `greeting` sent too, though not to
    /// be read: put nothing into it that only some may have. RFC 9846 4.5.3
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_greeting<T>(
        &self,
        transport: T,
        greeting: &[u8],
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.run(transport, greeting, &mut Later).await
    }

    /// The same with somebody who takes early data as it comes, and may answer it before the handshake is complete: read
    /// there what that means.
    ///
    /// # Errors
    /// As [`Self::accept`]. What was taken came from somebody else then, or its client is gone.
    pub async fn accept_exchanging<T>(
        &self,
        transport: T,
        exchange: &mut impl EarlyExchange,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.run(transport, &[], exchange).await
    }

    async fn run<T>(
        &self,
        transport: T,
        greeting: &[u8],
        exchange: &mut impl EarlyExchange,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = Handshake::server(Arc::clone(&self.config));
        let (side, terms) = (Side::Server, &self.terms);
        let complete =
            handshake::complete(side, handshake, transport, terms, greeting, exchange).await;
        complete.map(|(stream, _)| stream)
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor").finish_non_exhaustive()
    }
}
