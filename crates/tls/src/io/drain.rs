//! The end of a connection: received bytes are read, so that the transport is not reset.
//!
//! A TCP socket that is closed with unread bytes, such as the peer's tickets or requests, sends a
//! reset, and the peer's system discards what it has not delivered yet: the last data that was
//! written would be lost. So the writing side is closed first, and the reading side is read until
//! the peer closes, within two limits.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

/// The maximum number of received bytes that a close discards while it waits for the peer.
pub const MAX_DRAINED_BYTES: usize = 1 << 20;

/// The maximum time for which a close waits for the peer.
pub const MAX_DRAIN_TIME: Duration = Duration::from_secs(2);

/// A blocking transport that [`Stream::close`](crate::Stream::close) can close without a loss of
/// data. Implement it for transports of your own, such as a socket in a wrapper.
pub trait HalfClose: Read + Write {
    /// Closes the writing side, so that the peer reads an end. Reading continues.
    ///
    /// # Errors
    /// Those of the transport.
    fn close_write(&mut self) -> io::Result<()>;

    /// Limits the time of each following read. A read that takes longer returns
    /// [`io::ErrorKind::WouldBlock`] or [`io::ErrorKind::TimedOut`].
    ///
    /// # Errors
    /// Those of the transport.
    fn limit_reads(&mut self, limit: Duration) -> io::Result<()>;
}

macro_rules! half_close {
    ($($socket:ty),*) => { $(
        impl HalfClose for $socket {
            fn close_write(&mut self) -> io::Result<()> {
                self.shutdown(Shutdown::Write)
            }

            fn limit_reads(&mut self, limit: Duration) -> io::Result<()> {
                self.set_read_timeout(Some(limit))
            }
        }
    )* };
}

half_close!(TcpStream, &TcpStream);
#[cfg(unix)]
half_close!(UnixStream, &UnixStream);

impl<T: HalfClose + ?Sized> HalfClose for &mut T {
    fn close_write(&mut self) -> io::Result<()> {
        (**self).close_write()
    }

    fn limit_reads(&mut self, limit: Duration) -> io::Result<()> {
        (**self).limit_reads(limit)
    }
}

impl<T: HalfClose + ?Sized> HalfClose for Box<T> {
    fn close_write(&mut self) -> io::Result<()> {
        (**self).close_write()
    }

    fn limit_reads(&mut self, limit: Duration) -> io::Result<()> {
        (**self).limit_reads(limit)
    }
}
