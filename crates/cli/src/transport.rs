//! A TCP connection with time limits.
//!
//! Either a deadline covers all reads and writes, or each read and write has a time limit of its
//! own. A handshake and the head of a request have a deadline, because a slow peer cannot extend a
//! deadline by sending single bytes.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// A TCP connection with time limits.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: TcpStream,
    io_timeout: Duration,
    deadline: Cell<Option<Instant>>,
}

impl Transport {
    /// Takes a connected socket. Each read and write is limited until a deadline is set.
    pub(crate) fn new(socket: TcpStream, io_timeout: Duration) -> io::Result<Self> {
        // Records are written at once, so Nagle's algorithm would only delay them.
        socket.set_nodelay(true)?;
        let transport = Self { socket, io_timeout, deadline: Cell::new(None) };
        transport.clear_deadline()?;
        Ok(transport)
    }

    /// Sets a deadline for all following reads and writes.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
    }

    /// Removes the deadline; each read and write has its own time limit again.
    pub(crate) fn clear_deadline(&self) -> io::Result<()> {
        self.deadline.set(None);
        self.socket.set_read_timeout(Some(self.io_timeout))?;
        self.socket.set_write_timeout(Some(self.io_timeout))
    }

    /// Closes the connection so that the peer receives everything that was sent. Closing with
    /// unread bytes would reset the connection, and an alert or the end of an answer could be lost.
    pub(crate) fn close_gracefully(self) {
        let _ = self.socket.shutdown(Shutdown::Write);
        self.set_deadline(Instant::now() + LINGER);
        let mut rest = [0; 4096];
        for _ in 0..LINGER_READS {
            match (&self).read(&mut rest) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// The socket, with limits for each read and write.
    pub(crate) fn into_socket(self) -> io::Result<TcpStream> {
        self.clear_deadline()?;
        Ok(self.socket)
    }

    fn remaining(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline.get() else { return Ok(None) };
        match deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            remaining => Ok(Some(remaining)),
        }
    }
}

impl Read for &Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(remaining) = self.remaining()? {
                self.socket.set_read_timeout(Some(remaining))?;
            }
            match (&self.socket).read(buffer) {
                // A process that is stopped and continued gets this error.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Write for &Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(remaining) = self.remaining()? {
            self.socket.set_write_timeout(Some(remaining))?;
        }
        (&self.socket).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The maximum time for which unread data of a closed connection is read.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_READS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_peer_that_sends_single_bytes_does_not_move_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let transport = Transport::new(socket, Duration::from_secs(20)).unwrap();
        let sending = std::thread::spawn(move || {
            // Another deadline with each byte would end with the last byte.
            for _ in 0..2000 {
                if peer.write_all(b"x").is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        transport.set_deadline(Instant::now() + Duration::from_millis(200));
        let error = loop {
            match (&transport).read(&mut [0; 1]) {
                Ok(1) => {}
                other => break other.unwrap_err(),
            }
        };
        assert!(crate::explain::is_timeout(&error));
        drop(transport);
        sending.join().unwrap();
    }
}
