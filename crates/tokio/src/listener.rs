//! A listener whose connections have completed their handshakes.
//!
//! Must not know: protocols above TLS. Next: [`crate::acceptor`], [`crate::accept_backoff`].

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Sleep;

use crate::accept_backoff::AcceptBackoff;
use crate::acceptor::Acceptor;
use crate::stream::TlsStream;

/// A source of connected transports, such as a socket that listens.
pub trait Listen {
    /// What a client is connected by.
    type Transport: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// Where a client is.
    type Address: Send + 'static;

    /// The next client.
    ///
    /// # Errors
    /// Those of the source. It is asked again after a pause.
    fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Self::Transport, Self::Address)>>;
}

impl Listen for TcpListener {
    type Transport = TcpStream;
    type Address = SocketAddr;

    fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        Self::poll_accept(self, context)
    }
}

#[cfg(unix)]
impl Listen for tokio::net::UnixListener {
    type Transport = tokio::net::UnixStream;
    type Address = tokio::net::unix::SocketAddr;

    fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Self::Transport, Self::Address)>> {
        Self::poll_accept(self, context)
    }
}

/// Accepts connections, runs their handshakes beside each other, and yields those that succeed.
///
/// Each handshake is a task of its own, so that a slow client holds up no other. Their number is
/// bounded: while it is reached, clients wait in the system's queue. The acceptor's time limit
/// ends handshakes of clients that say nothing. After an `accept` that fails, for want of file
/// descriptors for instance, the next attempt waits: see [`AcceptBackoff`].
///
/// How many connections are open afterwards is for the application to bound. Dropping the listener
/// ends the handshakes that are under way.
///
/// ```no_run
/// use tercel_tokio::{Acceptor, TlsListener};
///
/// # async fn serve(config: std::sync::Arc<tercel::ServerConfig>) -> std::io::Result<()> {
/// let listener = tokio::net::TcpListener::bind(("127.0.0.1", 8443)).await?;
/// let mut listener = TlsListener::new(listener, Acceptor::new(config))
///     .max_handshakes(500)
///     .on_failure(|failure| eprintln!("{failure}"));
/// loop {
///     let (stream, peer) = listener.accept().await;
///     tokio::spawn(async move {
///         // Serve `stream`.
/// #       drop((stream, peer));
///     });
/// }
/// # }
/// ```
pub struct TlsListener<L: Listen = TcpListener> {
    listener: L,
    acceptor: Acceptor,
    /// Under way, and complete but not yet yielded.
    handshakes: JoinSet<Handshaken<L>>,
    max_handshakes: usize,
    backoff: AcceptBackoff,
    /// Until it is over nothing is accepted.
    pause: Option<Pin<Box<Sleep>>>,
    on_failure: Option<OnFailure<L>>,
}

type Handshaken<L> = (io::Result<TlsStream<<L as Listen>::Transport>>, <L as Listen>::Address);

type OnFailure<L> = Box<dyn FnMut(AcceptFailure<<L as Listen>::Address>) + Send>;

/// Why a [`TlsListener`] has not yielded a connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptFailure<A> {
    /// No connection could be accepted.
    Accept {
        /// Why.
        error: io::Error,
        /// How long until the next attempt.
        retry_in: Duration,
    },
    /// A client's handshake failed, or took too long.
    Handshake {
        /// Why; its inner error is a [`crate::HandshakeError`].
        error: io::Error,
        /// The client.
        peer: A,
    },
}

impl<A: fmt::Debug> fmt::Display for AcceptFailure<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept { error, retry_in } => {
                write!(f, "cannot accept a connection, trying again in {retry_in:?}: {error}")
            }
            Self::Handshake { error, peer } => write!(f, "handshake with {peer:?}: {error}"),
        }
    }
}

impl<L: Listen> TlsListener<L> {
    /// Accepts from `listener` by `acceptor`, with 1,024 handshakes at a time.
    #[must_use]
    pub fn new(listener: L, acceptor: Acceptor) -> Self {
        Self {
            listener,
            acceptor,
            handshakes: JoinSet::new(),
            max_handshakes: DEFAULT_MAX_HANDSHAKES,
            backoff: AcceptBackoff::new(),
            pause: None,
            on_failure: None,
        }
    }

    /// How many handshakes may be under way, or complete and not yet yielded; one at least.
    /// Default: 1,024, which hold no more than 16 MB.
    #[must_use]
    pub fn max_handshakes(mut self, most: usize) -> Self {
        self.max_handshakes = most.max(1);
        self
    }

    /// Calls `report` for each connection that fails. Default: nobody is told.
    #[must_use]
    pub fn on_failure(
        mut self,
        report: impl FnMut(AcceptFailure<L::Address>) + Send + 'static,
    ) -> Self {
        self.on_failure = Some(Box::new(report));
        self
    }

    /// The listener inside.
    #[must_use]
    pub fn get_ref(&self) -> &L {
        &self.listener
    }

    /// The next connection whose handshake is complete. Dropping the future loses nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn accept(&mut self) -> (TlsStream<L::Transport>, L::Address) {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// [`Self::accept`] for streams written by hand. Handshakes go on without being polled, but
    /// new connections are accepted only while this is.
    ///
    /// # Panics
    /// As [`Self::accept`].
    pub fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<(TlsStream<L::Transport>, L::Address)> {
        loop {
            match self.handshakes.poll_join_next(context) {
                Poll::Ready(Some(Ok((Ok(stream), peer)))) => return Poll::Ready((stream, peer)),
                Poll::Ready(Some(Ok((Err(error), peer)))) => {
                    self.report(AcceptFailure::Handshake { error, peer });
                    continue;
                }
                // A question's answer panicked, of which the runtime has told.
                Poll::Ready(Some(Err(_))) => continue,
                Poll::Ready(None) | Poll::Pending => {}
            }
            if self.handshakes.len() >= self.max_handshakes {
                return Poll::Pending;
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match ready!(self.listener.poll_accept(context)) {
                Ok((transport, peer)) => {
                    self.backoff.reset();
                    let acceptor = self.acceptor.clone();
                    self.handshakes.spawn(async move { (acceptor.accept(transport).await, peer) });
                }
                Err(error) => {
                    let retry_in = self.backoff.after(&error);
                    self.pause =
                        (!retry_in.is_zero()).then(|| Box::pin(tokio::time::sleep(retry_in)));
                    self.report(AcceptFailure::Accept { error, retry_in });
                }
            }
        }
    }

    fn report(&mut self, failure: AcceptFailure<L::Address>) {
        if let Some(report) = &mut self.on_failure {
            report(failure);
        }
    }
}

impl<L: Listen> fmt::Debug for TlsListener<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TlsListener");
        shown.field("handshakes", &self.handshakes.len()).finish_non_exhaustive()
    }
}

/// Many clients at once, and not so many that silent ones could fill the memory.
const DEFAULT_MAX_HANDSHAKES: usize = 1024;
