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
        self.accept_queued().await;
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
                        wait_for_descriptors(worker, reserve, || worker.is_draining()).await;
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
        let reserve = DescriptorReserve::new();
        loop {
            match self.socket.accept().await {
                Ok((transport, client)) => {
                    let is_reserved = reserve.contains(&transport);
                    start_connection(&self.worker, transport, client, self.index);
                    if is_reserved {
                        wait_for_descriptors(&self.worker, reserve, || false).await;
                    }
                }
                Err(error) => {
                    self.worker.shard.accept_failed(&error);
                    tokio::time::sleep(FILE_POLL_INTERVAL).await;
                }
            }
        }
    }

    /// Accepts the connections that are in the queue now. Calls `accept` directly, because the
    /// runtime may not have seen that the socket is readable, or may make the task yield. Waits if
    /// descriptors have run out: the drain closes connections. An inherited socket is left to the
    /// next process instead.
    async fn accept_queued(&self) {
        let reserve = DescriptorReserve::new();
        for _ in 0..BACKLOG {
            let has_run_out = match accept_now(&self.socket) {
                Ok((transport, client)) => {
                    let is_reserved = reserve.contains(&transport);
                    start_connection(&self.worker, transport, client, self.index);
                    is_reserved
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.worker.shard.accept_failed(&error);
                    let wait = AcceptBackoff::new().after(&error);
                    if !wait.is_zero() && !self.is_inherited {
                        pause_after_error(&self.worker, &error, wait).await;
                    }
                    !wait.is_zero()
                }
            };
            if has_run_out {
                if self.is_inherited {
                    return;
                }
                wait_for_descriptors(&self.worker, reserve, || false).await;
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

/// Waits until descriptors outside the reserve are free, or until `is_over`. The reserve is kept
/// for backend connections.
async fn wait_for_descriptors(
    worker: &WorkerContext,
    reserve: DescriptorReserve,
    is_over: impl Fn() -> bool,
) {
    let error = io::Error::from(nix::errno::Errno::EMFILE);
    worker.shard.accept_failed(&error);
    while reserve.is_reached() && !is_over() {
        pause_after_error(worker, &error, FILE_POLL_INTERVAL).await;
    }
}

/// Interval of checks for free descriptors.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    use super::*;
    use crate::active_config::ActiveConfig;
    use crate::listener::socket::bind;
    use crate::testing::terminator::{Folder, LIMIT, config};
    use crate::testing::{in_child, run_in_child};
    use crate::worker::connection_limits::ConnectionCounts;

    /// A listener in a process without a free descriptor, with clients in its queue.
    async fn drain_without_descriptors(is_inherited: bool) {
        let folder = Folder::new(&["a.example"]);
        let text = format!("workers = 1\n{}to = \"127.0.0.1:1\"", folder.listener());
        let active = Arc::new(ActiveConfig::new(&config(&text), None).unwrap());
        let worker = WorkerContext::new(active, Arc::default(), ConnectionCounts::new(1));
        let bound = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = bound.socket.local_addr().unwrap();
        let kept = bound.socket.try_clone().unwrap();
        let listener = Listener::new(&worker, ListeningSocket { is_inherited, ..bound }, 0);
        let _clients: Vec<_> =
            (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let files: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        worker.begin_drain(Instant::now() + LIMIT * 10);
        let accepting = tokio::task::spawn_local(listener.unwrap().accept());
        // The system ignores new clients for this long.
        tokio::time::sleep(TCP_HANDSHAKE_TIME * 2).await;
        assert_eq!(worker.connections(), 0);
        if is_inherited {
            timeout(LIMIT, accepting).await.unwrap().unwrap();
            drop(files);
            kept.accept().expect("a client is left to the next process");
        } else {
            assert!(!accepting.is_finished(), "the queue is given up");
            drop(files);
            timeout(LIMIT, accepting).await.unwrap().unwrap();
            assert_eq!(worker.connections(), 3);
        }
    }

    // This runs in a process of its own, because other tests need descriptors, too.
    #[test]
    fn drain_without_descriptors_waits_for_some_to_accept_its_queue() {
        if !in_child() {
            let test = "listener::accept::tests::\
                        drain_without_descriptors_waits_for_some_to_accept_its_queue";
            run_in_child(test, |_| ());
            return;
        }
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 64, hard).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for is_inherited in [false, true] {
            let tasks = tokio::task::LocalSet::new();
            tasks.block_on(&runtime, drain_without_descriptors(is_inherited));
        }
    }
}
