//! The accept loop of a listener.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tercel_tokio::AcceptBackoff;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::socket::{BACKLOG, ListeningSocket, ignore_new_connections};
use crate::connection::{self, AcceptedConnection};
use crate::system::file_limit::DescriptorReserve;
use crate::worker::connection_limits::Permit;
use crate::worker::log_limits::LogKind;
use crate::worker::{ConnectionGuard, WorkerContext};

/// A listener of one worker.
pub(crate) struct Listener {
    worker: Rc<WorkerContext>,
    socket: tokio::net::TcpListener,
    is_inherited: bool,
    /// The index of the listener in the configuration.
    index: usize,
}

impl Listener {
    pub(crate) fn new(
        worker: &Rc<WorkerContext>,
        listening: ListeningSocket,
        index: usize,
    ) -> io::Result<Self> {
        let ListeningSocket { socket, is_inherited } = listening;
        let socket = tokio::net::TcpListener::from_std(socket)?;
        Ok(Self { worker: Rc::clone(worker), socket, is_inherited, index })
    }

    /// Accepts connections until a drain begins. When the drain begins, accepts the connections
    /// that are in the queue, because the system would reset them otherwise.
    pub(crate) async fn accept(self) {
        self.accept_until_drain().await;
        // The service manager keeps an inherited socket and its queue for the next process.
        if !self.is_inherited && ignore_new_connections(&SockRef::from(&self.socket)).is_ok() {
            // Connections that the system is still establishing come into the queue.
            let _ = timeout(TCP_HANDSHAKE_TIME, self.accept_more()).await;
        }
        self.accept_queued();
    }

    async fn accept_until_drain(&self) {
        let Self { worker, socket, index, .. } = self;
        let drain = worker.drain.notified();
        let mut drain = pin!(drain);
        let mut backoff = AcceptBackoff::new();
        let reserve = DescriptorReserve::new();
        while !worker.is_draining() {
            let accepted = std::future::poll_fn(|context| match socket.poll_accept(context) {
                Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
                Poll::Pending if worker.is_draining() => Poll::Ready(None),
                Poll::Pending => drain.as_mut().poll(context).map(|()| None),
            });
            match accepted.await {
                None => return,
                Some(Ok((transport, client))) => {
                    backoff.reset();
                    let is_reserved = reserve.contains(&transport);
                    start_connection(worker, transport, client, *index);
                    if is_reserved {
                        wait_for_descriptors(worker, reserve).await;
                    }
                }
                Some(Err(error)) => {
                    worker.shard.accept_failed(&error);
                    let wait = backoff.after(&error);
                    if !wait.is_zero() {
                        pause_after_error(worker, &error, wait).await;
                    }
                }
            }
        }
    }

    /// Accepts connections until the future is dropped.
    async fn accept_more(&self) {
        loop {
            match self.socket.accept().await {
                Ok((transport, client)) => {
                    start_connection(&self.worker, transport, client, self.index);
                }
                Err(error) => {
                    self.worker.shard.accept_failed(&error);
                    tokio::time::sleep(FILE_POLL_INTERVAL).await;
                }
            }
        }
    }

    /// Accepts the connections that are in the queue now. Calls `accept` directly, because the
    /// runtime may not have seen that the socket is readable, or may make the task yield.
    fn accept_queued(&self) {
        for _ in 0..BACKLOG {
            match accept_now(&self.socket) {
                Ok((transport, client)) => {
                    start_connection(&self.worker, transport, client, self.index);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.worker.shard.accept_failed(&error);
                    if !AcceptBackoff::new().after(&error).is_zero() {
                        return;
                    }
                }
            }
        }
    }
}

/// How long the system may take to establish a connection that it has begun: a round trip.
const TCP_HANDSHAKE_TIME: Duration = Duration::from_millis(250);

fn accept_now(listener: &tokio::net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (socket, client) = SockRef::from(listener).accept()?;
    socket.set_nonblocking(true)?;
    let client = client.as_socket().ok_or(io::ErrorKind::InvalidData)?;
    Ok((TcpStream::from_std(socket.into())?, client))
}

fn start_connection(
    worker: &Rc<WorkerContext>,
    transport: TcpStream,
    client: SocketAddr,
    index: usize,
) {
    worker.shard.accepted();
    let config = worker.config();
    match Permit::new(&worker.counts, index, config.limits(index)) {
        Ok(permit) => {
            let guard = ConnectionGuard::new(worker);
            let worker = Rc::clone(worker);
            let accepted = AcceptedConnection { worker, config, client, listener: index, permit };
            tokio::task::spawn_local(connection::serve(accepted, transport, guard));
        }
        Err(reason) => {
            worker.shard.refused(reason.into());
            tracing::debug!(%client, "connection refused: {reason}");
        }
    }
}

/// Waits after a failure for lack of file descriptors or memory, until closing connections may
/// have freed some.
async fn pause_after_error(worker: &WorkerContext, error: &io::Error, wait: Duration) {
    if let Some(suppressed) = worker.log_limits.admit(LogKind::Accept, Instant::now()) {
        tracing::error!(%error, suppressed, "accept failed; retrying");
    }
    tokio::time::sleep(wait).await;
}

/// Waits until descriptors outside the reserve are free. The reserve is kept for backend
/// connections.
async fn wait_for_descriptors(worker: &WorkerContext, reserve: DescriptorReserve) {
    let error = io::Error::from(nix::errno::Errno::EMFILE);
    worker.shard.accept_failed(&error);
    while reserve.is_reached() && !worker.is_draining() {
        pause_after_error(worker, &error, FILE_POLL_INTERVAL).await;
    }
}

/// Interval of checks for free descriptors.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(5);
