//! A TCP connection that cannot be waited for without end.
//!
//! Either one moment ends all waiting (a handshake, the head of a request: a peer that drips bytes
//! gains nothing) or every single wait is limited (data). Must not know: TLS.
//! Next: [`crate::explain`], which words the errors.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// A socket with its time limits.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: TcpStream,
    each_wait: Duration,
    deadline: Cell<Option<Instant>>,
}

impl Transport {
    /// Takes a connected socket; until told otherwise, each wait is limited.
    pub(crate) fn new(socket: TcpStream, each_wait: Duration) -> io::Result<Self> {
        // Records are written whole; waiting to join them would only delay them.
        socket.set_nodelay(true)?;
        let transport = Self { socket, each_wait, deadline: Cell::new(None) };
        transport.limit_each_wait()?;
        Ok(transport)
    }

    /// From now on everything has to be over at this moment.
    pub(crate) fn limit_all_until(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
    }

    /// From now on each single wait is limited.
    pub(crate) fn limit_each_wait(&self) -> io::Result<()> {
        self.deadline.set(None);
        self.socket.set_read_timeout(Some(self.each_wait))?;
        self.socket.set_write_timeout(Some(self.each_wait))
    }

    /// Ends the connection such that the peer gets what was written last: with unread bytes left, closing
    /// would reset the connection and could take an alert or the end of an answer along.
    pub(crate) fn end(self) {
        let _ = self.socket.shutdown(Shutdown::Write);
        self.limit_all_until(Instant::now() + LINGER);
        let mut rest = [0; 4096];
        for _ in 0..LINGER_READS {
            match (&self).read(&mut rest) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// The socket, each wait limited.
    pub(crate) fn into_socket(self) -> io::Result<TcpStream> {
        self.limit_each_wait()?;
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
                // A stopped and continued process gets here; nothing has happened.
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

/// How long, and for how many reads, a finished connection is listened to.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_READS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_peer_that_drips_does_not_move_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let transport = Transport::new(socket, Duration::from_secs(20)).unwrap();
        let dripping = std::thread::spawn(move || {
            while peer.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let start = Instant::now();
        transport.limit_all_until(start + Duration::from_millis(200));
        let error = loop {
            match (&transport).read(&mut [0; 1]) {
                Ok(1) => {}
                other => break other.unwrap_err(),
            }
        };
        assert!(crate::explain::is_timeout(&error));
        assert!(start.elapsed() < Duration::from_secs(5));
        drop(transport);
        dripping.join().unwrap();
    }
}
