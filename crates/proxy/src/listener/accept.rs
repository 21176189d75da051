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

use super::socket::BACKLOG;
use crate::connection::{self, AcceptedConnection};
use crate::observability::logs::LogKind;
use crate::system::file_limit::DescriptorReserve;
use crate::worker::connection_limits::Permit;
use crate::worker::{ConnectionGuard, WorkerContext};

/// Accepts connections until a drain begins. When the drain begins, accepts the connections that
/// are in the queue, because the system would reset them otherwise.
pub(crate) async fn accept(
    worker: Rc<WorkerContext>,
    listener: tokio::net::TcpListener,
    index: usize,
) {
    let drain = worker.drain.notified();
    let mut drain = pin!(drain);
    let mut backoff = AcceptBackoff::new();
    let reserve = DescriptorReserve::new();
    loop {
        let accepted = std::future::poll_fn(|context| match listener.poll_accept(context) {
            Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
            Poll::Pending if worker.is_draining() => Poll::Ready(None),
            Poll::Pending => drain.as_mut().poll(context).map(|()| None),
        });
        match accepted.await {
            None => return accept_queued(&worker, &listener, index),
            Some(Ok((transport, client))) => {
                backoff.reset();
                let is_reserved = reserve.contains(&transport);
                start_connection(&worker, transport, client, index);
                if is_reserved {
                    wait_for_descriptors(&worker, reserve).await;
                }
            }
            Some(Err(error)) => {
                worker.shard.accept_failed(&error);
                let wait = backoff.after(&error);
                if !wait.is_zero() {
                    pause_after_error(&worker, &error, wait).await;
                }
            }
        }
        if worker.is_draining() {
            return accept_queued(&worker, &listener, index);
        }
    }
}

/// Accepts the connections that are in the queue now. Calls `accept` directly, because the runtime
/// may not have seen that the socket is readable, or may make the task yield.
fn accept_queued(worker: &Rc<WorkerContext>, listener: &tokio::net::TcpListener, index: usize) {
    for _ in 0..BACKLOG {
        match accept_now(listener) {
            Ok((transport, client)) => start_connection(worker, transport, client, index),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) => {
                worker.shard.accept_failed(&error);
                if !AcceptBackoff::new().after(&error).is_zero() {
                    return;
                }
            }
        }
    }
}

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
