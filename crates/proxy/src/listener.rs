//! Listening: one socket for each thread and address, between which the system shares out clients.
//!
//! Must not know: TLS. Next: [`crate::connection`].

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tercel_tokio::AcceptBackoff;
use tokio::net::TcpStream;

use crate::connection;
use crate::limits::{Permit, TooMany};
use crate::metrics::labels::Refused;
use crate::system::limits::Reserve;
use crate::worker::{Counted, Hub};

/// Connections that the system keeps for us until they are accepted; it may have a lower limit of its own.
const BACKLOG: i32 = 4096;

/// A socket that shares its address with those of the other threads.
///
/// Port 0 is for the first of them only: the others are given the port that came of it.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of an earlier run that are not quite gone do not matter.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        // `[::]` is for both versions, whatever the system's default.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    prepare(&socket.into())
}

/// The same for a socket that was open already, and is shared with the other threads as it is.
pub(crate) fn prepare(listener: &TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    // Accepted sockets have it from here.
    SockRef::from(listener).set_tcp_nodelay(true)?;
    listener.try_clone()
}

/// Accepts until the thread is to drain, and then what is in the queue already: it would be reset.
pub(crate) async fn accept(hub: Rc<Hub>, listener: tokio::net::TcpListener, number: usize) {
    let drain = hub.drain.notified();
    let mut drain = pin!(drain);
    let mut backoff = AcceptBackoff::new();
    let reserve = Reserve::new();
    loop {
        let accepted = std::future::poll_fn(|context| match listener.poll_accept(context) {
            Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
            Poll::Pending if hub.is_draining() => Poll::Ready(None),
            Poll::Pending => drain.as_mut().poll(context).map(|()| None),
        });
        match accepted.await {
            None => return accept_rest(&hub, &listener, number),
            Some(Ok((transport, client))) => {
                backoff.reset();
                let is_last = reserve.has(&transport);
                begin(&hub, transport, client, number);
                if is_last {
                    wait_for_files(&hub, reserve).await;
                }
            }
            Some(Err(error)) => {
                hub.shard.accept_failed(&error);
                let wait = backoff.after(&error);
                if !wait.is_zero() {
                    pause(&hub, &error, wait).await;
                }
            }
        }
        if hub.is_draining() {
            return accept_rest(&hub, &listener, number);
        }
    }
}

/// What is in the queue, in one go: who comes later is not waited for, nor are files. The runtime is not asked whether
/// there is anything: it may not have heard of it yet, or may want the task to yield.
fn accept_rest(hub: &Rc<Hub>, listener: &tokio::net::TcpListener, number: usize) {
    for _ in 0..BACKLOG {
        match accept_now(listener) {
            Ok((transport, client)) => begin(hub, transport, client, number),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) => {
                hub.shard.accept_failed(&error);
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

fn begin(hub: &Rc<Hub>, transport: TcpStream, client: SocketAddr, number: usize) {
    hub.shard.accepted();
    let view = hub.view();
    match Permit::new(&hub.counts, number, view.most(number)) {
        Ok(permit) => {
            let counted = Counted::new(hub);
            let serving =
                connection::serve(Rc::clone(hub), view, transport, client, number, permit, counted);
            tokio::task::spawn_local(serving);
        }
        Err(reason) => {
            hub.shard.refused(refused(reason));
            tracing::debug!(%client, "refused: {reason}");
        }
    }
}

/// What the metrics call it.
pub(crate) fn refused(reason: TooMany) -> Refused {
    match reason {
        TooMany::Connections => Refused::ConnectionLimit,
        TooMany::OfListener => Refused::ListenerLimit,
        TooMany::OfClient => Refused::AddressLimit,
    }
}

/// No file descriptors, or no memory: connections that end give some back, so a while later there may be.
async fn pause(hub: &Hub, error: &io::Error, wait: Duration) {
    if let Some(left_out) = hub.repeats.admit(std::time::Instant::now()) {
        tracing::error!(%error, left_out, "no connection can be accepted; trying again");
    }
    tokio::time::sleep(wait).await;
}

/// What is left is for backends, so the next clients wait until others have gone.
async fn wait_for_files(hub: &Hub, reserve: Reserve) {
    let error = io::Error::from(nix::errno::Errno::EMFILE);
    hub.shard.accept_failed(&error);
    while reserve.is_next() && !hub.is_draining() {
        pause(hub, &error, LOOK_FOR_FILES).await;
    }
}

/// Between two looks at whether there are files again.
const LOOK_FOR_FILES: Duration = Duration::from_millis(5);
