//! A listener that yields connections whose handshake is complete.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

use crate::accept_backoff::AcceptBackoff;
use crate::acceptor::Acceptor;
use crate::error::HandshakeError;
use crate::stream::TlsStream;
use crate::timer::make_timer;

/// A source of connected transports, such as a listening socket.
pub trait Listen {
    /// The transport to a client.
    type Transport: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// The address of a client.
    type Address: Send + 'static;

    /// The next client.
    ///
    /// # Errors
    /// Errors of the source. After an error, the source is polled again after a pause.
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

/// Accepts connections, runs their handshakes concurrently, and yields the connections whose
/// handshakes succeed.
///
/// Each handshake is a task of its own, so a slow client does not delay others. The number of
/// handshakes is limited; at the limit, clients wait in the backlog of the operating system. The
/// time limit of the acceptor ends handshakes of silent clients. After a failed `accept`, for lack
/// of file descriptors for instance, the next attempt is delayed: see [`AcceptBackoff`].
///
/// The application has to limit the number of open connections. Dropping the listener ends the
/// handshakes in progress.
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
    /// Handshakes in progress, and complete ones not yet yielded.
    handshakes: JoinSet<HandshakeResult<L>>,
    max_handshakes: usize,
    backoff: AcceptBackoff,
    /// The pause after a failed `accept`, during which nothing is accepted.
    pause: Option<Pause>,
    on_failure: Option<OnFailure<L>>,
}

type HandshakeResult<L> = (io::Result<TlsStream<<L as Listen>::Transport>>, <L as Listen>::Address);

type Pause = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

type OnFailure<L> = Box<dyn FnMut(AcceptFailure<<L as Listen>::Address>) + Send>;

/// The reason why a [`TlsListener`] did not yield a connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptFailure<A> {
    /// `accept` failed.
    Accept {
        /// The error.
        error: io::Error,
        /// The time until the next attempt.
        retry_in: Duration,
    },
    /// The handshake with a client failed or timed out.
    Handshake {
        /// The error; its inner error is a [`crate::HandshakeError`].
        error: io::Error,
        /// The address of the client.
        peer: A,
    },
}

impl<A: fmt::Debug> fmt::Display for AcceptFailure<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept { error, retry_in } => {
                write!(f, "cannot accept connection, retrying in {retry_in:?}: {error}")
            }
            Self::Handshake { error, peer } => write!(f, "handshake with {peer:?} failed: {error}"),
        }
    }
}

impl<L: Listen> TlsListener<L> {
    /// Accepts from `listener` with `acceptor`, and at most 1,024 concurrent handshakes.
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

    /// Sets the maximum number of handshakes that are in progress, or complete and not yet
    /// yielded; at least one. Default: 1,024, which need at most 16 MB.
    #[must_use]
    pub fn max_handshakes(mut self, most: usize) -> Self {
        self.max_handshakes = most.max(1);
        self
    }

    /// Sets a function that is called for each failed connection. Default: failures are ignored.
    #[must_use]
    pub fn on_failure(
        mut self,
        report: impl FnMut(AcceptFailure<L::Address>) + Send + 'static,
    ) -> Self {
        self.on_failure = Some(Box::new(report));
        self
    }

    /// Rejects early data: see [`Acceptor::without_early_data`].
    #[must_use]
    pub fn without_early_data(mut self) -> Self {
        self.acceptor = self.acceptor.without_early_data();
        self
    }

    /// The inner listener.
    #[must_use]
    pub fn get_ref(&self) -> &L {
        &self.listener
    }

    /// The next connection whose handshake is complete. Dropping the future loses nothing.
    ///
    /// This method needs a tokio runtime, with timers if the acceptor has a time limit. Without
    /// them each connection is refused and reported: see [`HandshakeError::NoRuntime`] and
    /// [`HandshakeError::NoTimer`].
    pub async fn accept(&mut self) -> (TlsStream<L::Transport>, L::Address) {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// The poll form of [`Self::accept`]. Handshakes proceed without being polled, but new
    /// connections are accepted only while this method is polled.
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
                // An answer function has panicked, and the runtime has reported it.
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
                    let Ok(runtime) = Handle::try_current() else {
                        let error = HandshakeError::NoRuntime.into();
                        self.report(AcceptFailure::Handshake { error, peer });
                        continue;
                    };
                    let acceptor = self.acceptor.clone();
                    let handshake = async move { (acceptor.accept(transport).await, peer) };
                    self.handshakes.spawn_on(handshake, &runtime);
                }
                Err(error) => {
                    let retry_in = self.backoff.after(&error);
                    self.pause = (!retry_in.is_zero()).then(|| pause(retry_in));
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

/// Waits for this time. A runtime without timers waits in a thread for blocking work. Outside of a
/// runtime nothing can wait, so other tasks run once before the next attempt.
fn pause(time: Duration) -> Pause {
    if let Some(sleep) = make_timer(|| sleep(time)) {
        return Box::pin(sleep);
    }
    match Handle::try_current() {
        Ok(runtime) => {
            let waiting = runtime.spawn_blocking(move || std::thread::sleep(time));
            Box::pin(async { drop(waiting.await) })
        }
        Err(_) => Box::pin(yield_now()),
    }
}

/// The default limit: enough for many clients, but silent clients cannot fill the memory.
const DEFAULT_MAX_HANDSHAKES: usize = 1024;
