//! A connection after its handshake. Its type is small, because it uses most of a process's memory.
//!
//! A waiting connection has the TLS sender and receiver and two sockets, but no buffer; after
//! `timeouts.park` it frees the expanded traffic keys as well.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use socket2::SockRef;
use tercel_tokio::TlsStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::backend::endpoint::BackendStream;
use crate::relay::buffer::with_buffer;
use crate::relay::coalesce::{self, Coalescer};
use crate::relay::flow::{Flow, RelayStatus, poll_both};
use crate::relay::lingering_close;
use crate::worker::connection_limits::Permit;
use crate::worker::idle_timer::{IdleTimer, TimerEvent};
use crate::worker::{Drain, WorkerContext};

/// A connection to a client, and to a backend once the backend is connected.
pub(crate) struct ProxiedConnection {
    client: TlsStream<TcpStream>,
    backend: Option<BackendStream>,
    up: Flow,
    down: Flow,
    /// The error of a failed write to the backend. The backend's answer is still relayed.
    write_error: Option<io::Error>,
    coalescer: Coalescer,
    idle_timer: IdleTimer,
    worker: Rc<WorkerContext>,
    /// Whether ALPN selected HTTP, in which a connection without data after an answer is idle.
    http: bool,
    /// Whether the client has sent data.
    client_sent: bool,
    /// Whether an answer may be outstanding: the client was the last to send data.
    client_sent_last: bool,
    half_closed: bool,
    /// Whether a close without close_notify counts as EOF.
    truncation_is_eof: bool,
    _permit: Permit,
}

/// The reason why a connection is closed.
#[derive(Debug)]
pub(crate) enum CloseReason {
    /// Both directions have ended.
    Finished,
    /// The idle timeout has expired.
    IdleTimeout,
    /// The process is draining, and the connection is between two requests.
    Drained,
    /// The client connection failed, or the client violated the protocol.
    ClientError(io::Error),
    /// The backend connection failed.
    BackendError(io::Error),
}

/// How long to wait for a client to accept a close_notify and close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

impl ProxiedConnection {
    /// A connection whose `first` data is sent to the backend before the client's data.
    pub(crate) fn new(
        client: TlsStream<TcpStream>,
        first: Vec<u8>,
        http: bool,
        worker: Rc<WorkerContext>,
        permit: Permit,
    ) -> Box<Self> {
        let timeouts = worker.timeouts();
        let idle_timer = worker.idle_timers.register(timeouts.idle, timeouts.park);
        Box::new(Self {
            client,
            backend: None,
            up: Flow::from_records(first),
            down: Flow::from_socket(Vec::new()),
            write_error: None,
            coalescer: Coalescer::default(),
            idle_timer,
            worker,
            http,
            client_sent: false,
            client_sent_last: false,
            half_closed: false,
            truncation_is_eof: false,
            _permit: permit,
        })
    }

    /// Sets whether a close without close_notify counts as EOF; otherwise the backend is reset.
    pub(crate) fn set_truncation_is_eof(&mut self, is_eof: bool) {
        self.truncation_is_eof = is_eof;
    }

    /// Records that the client sent data before the handshake was complete.
    pub(crate) fn mark_client_sent(&mut self) {
        self.client_sent = true;
        self.client_sent_last = true;
    }

    /// The state shared by the worker's connections.
    pub(crate) fn worker(&self) -> &WorkerContext {
        &self.worker
    }

    /// Waits for the first data of the client and keeps it for the backend.
    pub(crate) async fn wait_for_first_byte(&mut self) -> Result<(), CloseReason> {
        poll_fn(|context| self.poll_first_byte(context)).await
    }

    /// Relays between the client and this backend until the connection ends.
    pub(crate) async fn relay(&mut self, backend: BackendStream) -> CloseReason {
        self.backend = Some(backend);
        self.idle_timer.record_activity();
        poll_fn(|context| self.poll_relay(context)).await
    }

    /// Closes both sides in the way that the reason requires.
    pub(crate) async fn close(mut self: Box<Self>, reason: &CloseReason) {
        if let CloseReason::ClientError(error) = reason {
            self.worker.shard.client_failed(error);
        }
        let has_open_request = self.has_open_request();
        let backend = self.backend.take();
        match reason {
            // All received data was forwarded, and the route's protocol determines whether that
            // data is complete.
            CloseReason::ClientError(error)
                if self.truncation_is_eof && self.up.is_empty() && is_truncation(error) => {}
            // If one side has failed, the other side is not closed cleanly, so that it can detect
            // that data is missing. RFC 9846 6.1
            CloseReason::ClientError(_) => reset(backend),
            CloseReason::BackendError(_) => {
                drop(backend);
                self.shut_down_client().await;
            }
            // If there was no backend, the client's close_notify has not been answered yet.
            CloseReason::Finished if backend.is_none() => self.close_client().await,
            CloseReason::Finished => {}
            CloseReason::IdleTimeout | CloseReason::Drained if !has_open_request => {
                drop(backend);
                self.close_client().await;
            }
            // An idle timeout is not a clean end: an attacker on the path can cause it by
            // withholding data, and neither side has indicated that it has finished.
            CloseReason::IdleTimeout | CloseReason::Drained => reset(backend),
        }
    }

    /// Sends close_notify and waits briefly for the client to close.
    pub(crate) async fn close_client(&mut self) {
        if let Err(error) = lingering_close::close(&mut self.client).await {
            self.worker.shard.client_failed(&error);
        }
    }

    /// Shuts down the transport without close_notify, so that the client receives the data that the
    /// backend sent before it failed. Waits for the client to close, longer while the client sends.
    async fn shut_down_client(&mut self) {
        let limit = self.worker.timeouts().half_closed;
        let closing = async {
            timeout(CLOSE_TIMEOUT, self.client.flush()).await??;
            SockRef::from(self.client.transport()).shutdown(Shutdown::Write)?;
            self.wait_for_client_close().await
        };
        let _ = timeout(limit, Box::pin(closing)).await;
    }

    /// Waits until the client closes, or is silent for the close timeout.
    async fn wait_for_client_close(&mut self) -> io::Result<()> {
        let mut rest = [0; 256];
        while timeout(CLOSE_TIMEOUT, self.client.read(&mut rest)).await?? > 0 {}
        Ok(())
    }

    fn poll_first_byte(&mut self, context: &mut Context<'_>) -> Poll<Result<(), CloseReason>> {
        if let Some(reason) = self.check_timer() {
            return Poll::Ready(Err(reason));
        }
        let Self { client, up, .. } = self;
        let polled = with_buffer(|buffer| {
            let mut piece = ReadBuf::new(buffer);
            ready!(Pin::new(client).poll_read(context, &mut piece))?;
            up.push(piece.filled());
            Poll::Ready(io::Result::Ok(piece.filled().len()))
        });
        match polled {
            Poll::Pending if self.is_drained() => Poll::Ready(Err(CloseReason::Drained)),
            Poll::Pending => {
                self.idle_timer.set_waker(context.waker());
                Poll::Pending
            }
            Poll::Ready(Ok(0)) => Poll::Ready(Err(CloseReason::Finished)),
            Poll::Ready(Ok(count)) => {
                self.mark_client_sent();
                self.worker.shard.received(u64::try_from(count).unwrap_or(0));
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(CloseReason::ClientError(error))),
        }
    }

    fn poll_relay(&mut self, context: &mut Context<'_>) -> Poll<CloseReason> {
        if let Some(reason) = self.check_timer() {
            return Poll::Ready(reason);
        }
        let Self { client, backend: Some(backend), up, down, write_error, .. } = self else {
            return Poll::Ready(CloseReason::Finished);
        };
        let (mut received, mut sent) = (0, 0);
        let results = poll_both(
            (up, client, &mut received),
            (down, backend, &mut sent),
            write_error,
            context,
        );
        if received > 0 || sent > 0 {
            if sent == 0 {
                self.coalescer.client_sent();
            } else if self.coalescer.should_wait(sent, Instant::now()) {
                coalesce::request_wait();
            }
            self.client_sent |= received > 0;
            // If both have sent, the data of the backend may have preceded the client's.
            self.client_sent_last = received > 0;
            self.worker.shard.received(received);
            self.worker.shard.sent(sent);
            self.idle_timer.record_activity();
        }
        match RelayStatus::of(results, self.write_error.as_ref()) {
            RelayStatus::Finished => return Poll::Ready(CloseReason::Finished),
            RelayStatus::ClientFailed(error) => {
                return Poll::Ready(CloseReason::ClientError(error));
            }
            RelayStatus::BackendFailed(error) => {
                return Poll::Ready(CloseReason::BackendError(error));
            }
            RelayStatus::HalfClosed if !self.half_closed => {
                self.half_closed = true;
                self.idle_timer.set_limit(self.worker.timeouts().half_closed);
            }
            RelayStatus::HalfClosed | RelayStatus::Open => {}
        }
        if self.is_drained() {
            return Poll::Ready(CloseReason::Drained);
        }
        self.idle_timer.set_waker(context.waker());
        Poll::Pending
    }

    /// Handles an expired idle timer.
    fn check_timer(&mut self) -> Option<CloseReason> {
        match self.idle_timer.take_event() {
            Some(TimerEvent::Timeout) => return Some(CloseReason::IdleTimeout),
            Some(TimerEvent::Park) => self.client.park(),
            None => {}
        }
        None
    }

    /// Whether a drain closes the connection now: the client has not been promised an answer, and
    /// has sent nothing that was not read yet, such as the first part of a record.
    fn is_drained(&self) -> bool {
        self.worker.drain_state().is_some_and(|drain| !self.is_promised_an_answer(&drain))
            && !self.client.has_unread()
            && !has_unread_data(self.client.transport())
    }

    /// Whether the client has been promised an answer, so that a drain waits.
    ///
    /// Accepting a connection is a promise, which the time limit of the handshake bounds:
    /// connections in the accept queue are accepted, and handshakes are completed. After the
    /// handshake, the first request may be on its way; later ones are promised an answer once they
    /// have arrived. Clients have to expect the end of an idle connection (RFC 9112 9.3.1, RFC 9113
    /// 9.1). The boundaries of requests are visible as the order of data only, and in HTTP only:
    /// without it, and when one direction has ended, an answer is always possible.
    ///
    /// | state | promised an answer |
    /// |---|---|
    /// | before the first byte | for the patience, from the handshake and from the drain on |
    /// | the client has sent last | yes |
    /// | data is pending, or one direction has ended | yes |
    /// | the backend has sent last: idle, or within an answer | for the patience |
    fn is_promised_an_answer(&self, drain: &Drain) -> bool {
        let patience = drain.patience();
        let is_first = !self.client_sent && drain.elapsed() < patience;
        self.has_open_request() || is_first || !self.idle_timer.is_idle_for(patience)
    }

    /// Whether a request of the client seems to be unanswered. Otherwise the connection can be
    /// closed with close_notify.
    fn has_open_request(&self) -> bool {
        let is_answered = self.http && !self.client_sent_last && !self.half_closed;
        let has_no_request = self.backend.is_none() || is_answered;
        !(has_no_request && self.up.is_empty() && self.down.is_empty())
    }
}

/// Whether a socket has data that was not read. The runtime may not know about it yet.
fn has_unread_data(transport: &TcpStream) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    SockRef::from(transport).peek(&mut byte).is_ok_and(|count| count > 0)
}

/// Whether the client's transport ended without close_notify. A decryption failure never counts.
fn is_truncation(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

fn reset(backend: Option<BackendStream>) {
    if let Some(backend) = backend {
        backend.reset();
    }
}

impl Drop for ProxiedConnection {
    fn drop(&mut self) {
        self.worker.shard.closed();
    }
}
