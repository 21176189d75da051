//! The listener of HTTP servers.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tercel_tokio::tercel::ServerConfig;
use tercel_tokio::{Acceptor, Listen, TlsListener, TlsStream};
use tokio::net::{TcpListener, ToSocketAddrs};

/// Accepts TLS connections for an HTTP server.
///
/// It is a [`TlsListener`] in the form that servers expect: with the feature `axum`, a
/// `axum::serve::Listener`; with the feature `tonic`, a stream for `serve_with_incoming`. For
/// hyper itself, see [`Self::accept`].
///
/// The handler of a request must not rely on the server name of the handshake for the identity of
/// the client: browsers send requests for several names over one connection of HTTP/2. If names
/// demand different client certificates, answer a request whose authority is not
/// [`TlsInfo::server_name`](crate::TlsInfo::server_name) with 421 (Misdirected Request).
///
/// HTTP/2 is used with clients that offer it if the configuration's `alpn` names `h2`. Call
/// [`Self::new`] with a [`TlsListener`] to set limits or a callback for failures.
pub struct HttpsListener<L: Listen = TcpListener> {
    pub(crate) tls: TlsListener<L>,
}

impl HttpsListener {
    /// Listens on TCP, with the limits of [`TlsListener`]. Failed handshakes are not reported.
    ///
    /// # Errors
    /// Those of [`TcpListener::bind`].
    pub async fn bind(address: impl ToSocketAddrs, config: Arc<ServerConfig>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self::new(TlsListener::new(listener, Acceptor::new(config))))
    }
}

impl<L: Listen> HttpsListener<L> {
    /// A listener on the connections of `tls`. Early data is rejected: a server of hyper could not
    /// recognise a request that may be a replay. RFC 8470 3
    #[must_use]
    pub fn new(tls: TlsListener<L>) -> Self {
        Self { tls: tls.without_early_data() }
    }

    /// The next connection whose handshake is complete, with the address of its client. A shutdown
    /// of the stream waits for the client for a limited time, as [`TlsStream::close`] does, so that
    /// an answer arrives although the rest of a request was not read;
    /// [`TlsStream::set_shutdown_waits`] changes that.
    ///
    /// ```no_run
    /// use http_body_util::Full;
    /// use hyper::{Response, body::Bytes, service::service_fn};
    /// use hyper_util::rt::{TokioExecutor, TokioIo};
    /// use hyper_util::server::conn::auto::Builder;
    ///
    /// # async fn serve(mut listener: tercel_hyper::HttpsListener) {
    /// loop {
    ///     let (stream, _) = listener.accept().await;
    ///     tokio::spawn(async move {
    ///         let hello = service_fn(async |_| {
    ///             Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello\n")))
    ///         });
    ///         let server = Builder::new(TokioExecutor::new());
    ///         server.serve_connection(TokioIo::new(stream), hello).await
    ///     });
    /// }
    /// # }
    /// ```
    pub async fn accept(&mut self) -> (TlsStream<L::Transport>, L::Address) {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// As [`Self::accept`], for implementations of futures and streams.
    pub fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<(TlsStream<L::Transport>, L::Address)> {
        self.tls.poll_accept(context).map(|(mut stream, peer)| {
            stream.set_shutdown_waits(true);
            (stream, peer)
        })
    }

    /// The source of connections, such as the [`TcpListener`].
    #[must_use]
    pub fn get_ref(&self) -> &L {
        self.tls.get_ref()
    }
}

impl<L: Listen> fmt::Debug for HttpsListener<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsListener").finish_non_exhaustive()
    }
}
