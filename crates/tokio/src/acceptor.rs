//! The server side of handshakes.

use std::io;
use std::sync::Arc;

use tercel::{Handshake, ReceiveBuffer, ServerConfig, Side};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::early_data::{BufferedEarlyData, EarlyExchange};
use crate::handshake::{self, HandshakeOptions, Started, handshake_option_setters};
use crate::stream::TlsStream;

/// Accepts TLS connections from clients over connected transports. Cheap to clone.
///
/// ```
/// use std::{io, time::Duration};
/// use tercel_tokio::Acceptor;
/// use tokio::io::AsyncWriteExt;
///
/// async fn serve(acceptor: Acceptor, transport: tokio::net::TcpStream) -> io::Result<()> {
///     let acceptor = acceptor.time_limit(Some(Duration::from_secs(5)));
///     let mut stream = acceptor.accept(transport).await?;
///     stream.write_all(b"hello\n").await?;
///     stream.close().await
/// }
/// ```
#[derive(Clone)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    options: Arc<HandshakeOptions>,
}

handshake_option_setters!(Acceptor);

impl Acceptor {
    /// An acceptor with this configuration, and a time limit of 15 seconds for a handshake.
    #[must_use]
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self { config, options: Arc::default() }
    }

    /// Rejects early data, whatever the configuration allows: clients send it again after the
    /// handshake. This is for servers that read only the stream. Handshakes that the caller has
    /// begun ([`Self::accept_started`]) are not changed: see [`Handshake::without_early_data`].
    #[must_use]
    pub fn without_early_data(mut self) -> Self {
        Arc::make_mut(&mut self.options).rejects_early_data = true;
        self
    }

    /// Runs the handshake with a client. Accepted early data is available from
    /// [`TlsStream::take_early_data`], and has to be taken before the stream is read. Dropping the
    /// future closes the transport.
    ///
    /// # Errors
    /// Errors of the transport, and [`crate::HandshakeError`] as the inner error of an
    /// [`io::Error`].
    pub async fn accept<T>(&self, transport: T) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.accept_with_greeting(transport, &[]).await
    }

    /// Like [`Self::accept`], but sends `greeting` before all data that is written to the stream.
    /// This is for protocols in which the server sends first. In TLS 1.3 `greeting` is sent right
    /// after the server's Finished, a round trip before the handshake is complete.
    ///
    /// The client is not authenticated when `greeting` is sent. An attacker who replays a
    /// ClientHello also receives `greeting`, but cannot decrypt it. `greeting` must not contain
    /// anything that is meant only for some clients. RFC 9846 4.5.3
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_with_greeting<T>(
        &self,
        transport: T,
        greeting: &[u8],
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.run(transport, self.new_handshake(), greeting, &mut BufferedEarlyData).await
    }

    /// Like [`Self::accept`], but passes early data to a handler as it arrives. The handler may
    /// answer before the handshake is complete. See [`EarlyExchange`] for the risk.
    ///
    /// # Errors
    /// As [`Self::accept`]. Early data that the handler received before an error may have
    /// been a replay.
    pub async fn accept_with_early_data<T>(
        &self,
        transport: T,
        exchange: &mut impl EarlyExchange,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.run(transport, self.new_handshake(), &[], exchange).await
    }

    /// Like [`Self::accept`], but continues a handshake that the caller has begun with
    /// [`Handshake::advance`], for example to read the ClientHello and to choose a configuration.
    /// `received` are the received bytes that `advance` has left. All that `advance` has written
    /// must have been sent.
    ///
    /// The configuration of this acceptor is not used, and its time limit begins with this call.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_started<T>(
        &self,
        transport: T,
        handshake: Handshake,
        received: ReceiveBuffer,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let started = Started { handshake, received };
        self.run(transport, started, &[], &mut BufferedEarlyData).await
    }

    /// Like [`Self::accept_started`], with a handler of early data as in
    /// [`Self::accept_with_early_data`].
    ///
    /// # Errors
    /// As [`Self::accept_with_early_data`].
    pub async fn accept_started_with_early_data<T>(
        &self,
        transport: T,
        handshake: Handshake,
        received: ReceiveBuffer,
        exchange: &mut impl EarlyExchange,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        self.run(transport, Started { handshake, received }, &[], exchange).await
    }

    fn new_handshake(&self) -> Started {
        let handshake = Handshake::server(Arc::clone(&self.config));
        match self.options.rejects_early_data {
            true => handshake.without_early_data().into(),
            false => handshake.into(),
        }
    }

    async fn run<T>(
        &self,
        transport: T,
        started: Started,
        greeting: &[u8],
        exchange: &mut impl EarlyExchange,
    ) -> io::Result<TlsStream<T>>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let (side, options) = (Side::Server, &self.options);
        let complete =
            handshake::complete(side, started, transport, options, greeting, exchange).await;
        complete.map(|(stream, _)| stream)
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor").finish_non_exhaustive()
    }
}
