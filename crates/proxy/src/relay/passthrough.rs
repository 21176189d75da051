//! A connection whose TLS is not terminated here: bytes are relayed unchanged in both directions.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;

use crate::backend::endpoint::BackendStream;
use crate::observability::metrics::labels::BackendFailure;
use crate::relay::flow::{Flow, RelayStatus, poll_both};
use crate::worker::WorkerContext;
use crate::worker::connection_limits::Permit;
use crate::worker::idle_timer::{IdleTimer, TimerEvent};

/// A client and its backend.
pub(crate) struct PassthroughConnection {
    client: TcpStream,
    backend: BackendStream,
    up: Flow,
    down: Flow,
    /// The error of a failed write to the backend. The backend's answer is still relayed.
    write_error: Option<io::Error>,
    idle_timer: IdleTimer,
    worker: Rc<WorkerContext>,
    is_half_closed: bool,
    _permit: Permit,
}

/// The reason why a connection ended before both directions did.
enum Failure {
    IdleTimeout,
    Client(io::Error),
    Backend(io::Error),
}

impl PassthroughConnection {
    /// A connection whose `first` bytes are sent to the backend before those of the client.
    pub(crate) fn new(
        client: TcpStream,
        backend: BackendStream,
        first: Vec<u8>,
        worker: Rc<WorkerContext>,
        permit: Permit,
    ) -> Box<Self> {
        let timeouts = worker.timeouts();
        let idle_timer = worker.idle_timers.register(timeouts.idle, timeouts.idle);
        worker.shard.opened();
        Box::new(Self {
            client,
            backend,
            up: Flow::from_socket(first),
            down: Flow::from_socket(Vec::new()),
            write_error: None,
            idle_timer,
            worker,
            is_half_closed: false,
            _permit: permit,
        })
    }

    /// Relays until both directions have ended. If one side fails, the other is reset, because its
    /// peer has not ended the connection.
    pub(crate) async fn relay(mut self: Box<Self>) {
        let Err(failure) = poll_fn(|context| self.poll_relay(context)).await else { return };
        match failure {
            Failure::IdleTimeout => {}
            Failure::Client(error) => {
                tracing::debug!(%error, "connection of client ended with an error");
            }
            Failure::Backend(error) => {
                self.worker.shard.backend_failed(BackendFailure::of(&error));
                tracing::debug!(%error, "connection to backend ended with an error");
            }
        }
        self.backend.reset();
        let _ = SockRef::from(&self.client).set_linger(Some(Duration::ZERO));
    }

    fn poll_relay(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if self.idle_timer.take_event() == Some(TimerEvent::Timeout) {
            return Poll::Ready(Err(Failure::IdleTimeout));
        }
        let (mut received, mut sent) = (0, 0);
        let Self { client, backend, up, down, write_error, .. } = self;
        let results = poll_both(
            (up, client, &mut received),
            (down, backend, &mut sent),
            write_error,
            context,
        );
        if received > 0 || sent > 0 {
            self.worker.shard.relayed_through(received, sent);
            self.idle_timer.record_activity();
        }
        match RelayStatus::of(results, self.write_error.as_ref()) {
            RelayStatus::Finished => return Poll::Ready(Ok(())),
            RelayStatus::ClientFailed(error) => return Poll::Ready(Err(Failure::Client(error))),
            RelayStatus::BackendFailed(error) => return Poll::Ready(Err(Failure::Backend(error))),
            RelayStatus::HalfClosed if !self.is_half_closed => {
                self.is_half_closed = true;
                self.idle_timer.set_limit(self.worker.timeouts().half_closed);
            }
            RelayStatus::HalfClosed | RelayStatus::Open => {}
        }
        self.idle_timer.set_waker(context.waker());
        Poll::Pending
    }
}

impl Drop for PassthroughConnection {
    fn drop(&mut self) {
        self.worker.shard.closed();
    }
}
