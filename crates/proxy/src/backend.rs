//! Backends: where they are, whose turn it is, and the connection to one.
//!
//! Must not know: TLS. Next: [`crate::relay`].

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Instant;

/// A backend that can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Addresses of one host, tried in turn.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

/// A connection to a backend.
#[derive(Debug)]
pub(crate) enum BackendStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Whose turn it is among a route's backends, for one thread.
#[derive(Debug)]
pub(crate) struct Turns {
    next: Cell<usize>,
    faults: Vec<Fault>,
}

/// What is remembered of a backend that could not be reached.
#[derive(Debug, Default)]
struct Fault {
    until: Cell<Option<Instant>>,
    in_a_row: Cell<u32>,
}

/// A backend is left alone for so long after its first failure, and for twice as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Turns {
    pub(crate) fn new(backends: usize) -> Self {
        let faults = (0..backends).map(|_| Fault::default()).collect();
        // Threads begin with different ones.
        let any = usize::try_from(RandomState::new().hash_one(()) >> 33).unwrap_or(0);
        Self { next: Cell::new(any.checked_rem(backends).unwrap_or(0)), faults }
    }

    /// All of them in the order in which to try: round robin, and last those that failed lately.
    pub(crate) fn order(&self) -> Vec<usize> {
        let count = self.faults.len();
        let first = self.next.get();
        let next = first.saturating_add(1);
        self.next.set(if next < count { next } else { 0 });
        let now = Instant::now();
        let paused = |at: &usize| {
            self.faults
                .get(*at)
                .and_then(|fault| fault.until.get())
                .is_some_and(|until| until > now)
        };
        let turn = (first..count).chain(0..first.min(count));
        let (last, mut order): (Vec<_>, Vec<_>) = turn.partition(paused);
        order.extend(last);
        order
    }

    pub(crate) fn failed(&self, at: usize) {
        let Some(fault) = self.faults.get(at) else { return };
        let before = fault.in_a_row.get();
        let pause = FIRST_PAUSE.saturating_mul(1 << before.min(10)).min(LONGEST_PAUSE);
        fault.in_a_row.set(before.saturating_add(1));
        fault.until.set(Instant::now().checked_add(pause));
    }

    pub(crate) fn reached(&self, at: usize) {
        if let Some(fault) = self.faults.get(at) {
            fault.in_a_row.set(0);
            fault.until.set(None);
        }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(addresses) => match addresses.first() {
                Some(address) => write!(f, "{address}"),
                None => f.write_str("nowhere"),
            },
        }
    }
}

impl Endpoint {
    /// Connects within `limit`.
    pub(crate) async fn connect(&self, limit: Duration) -> io::Result<BackendStream> {
        match tokio::time::timeout(limit, self.connect_without_end()).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn connect_without_end(&self) -> io::Result<BackendStream> {
        let addresses = match self {
            Self::Unix(path) => return Ok(BackendStream::Unix(UnixStream::connect(path).await?)),
            Self::Tcp(addresses) => addresses,
        };
        let mut failed = None;
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(BackendStream::Tcp(stream));
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }
}

impl BackendStream {
    /// Has the connection end with a reset, by which the backend knows that something is missing.
    pub(crate) fn reset(&self) {
        // What cannot be reset ends as it can.
        if let Self::Tcp(stream) = self {
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for BackendStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, out),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, out),
        }
    }
}

impl AsyncWrite for BackendStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Neither kind keeps anything back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_take_turns() {
        let turns = Turns::new(3);
        let order = [turns.order(), turns.order(), turns.order(), turns.order()];
        for (at, one) in order.iter().enumerate() {
            assert_eq!(one[0], (order[0][0] + at) % 3);
            let mut all = one.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_failed_comes_last_for_a_while() {
        let turns = Turns::new(2);
        turns.failed(1);
        assert_eq!(turns.order(), [0, 1]);
        assert_eq!(turns.order(), [0, 1]);
        tokio::time::advance(FIRST_PAUSE).await;
        let firsts = [turns.order()[0], turns.order()[0]];
        assert!(firsts.contains(&1));
        // Twice as long now.
        turns.failed(1);
        tokio::time::advance(FIRST_PAUSE).await;
        assert_eq!([turns.order()[0], turns.order()[0]], [0, 0]);
        turns.reached(1);
        assert!([turns.order()[0], turns.order()[0]].contains(&1));
    }

    #[test]
    fn all_that_failed_are_tried_all_the_same() {
        let turns = Turns::new(2);
        turns.failed(0);
        turns.failed(1);
        assert_eq!(turns.order().len(), 2);
    }
}
