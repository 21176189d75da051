//! A connection over a blocking transport, as `Read + Write`.
//!
//! Must not know: the protocol; it moves bytes between a transport and the halves.
//! Next: [`super::sender`], [`super::receiver`].

use std::io::{self, Read, Write};

use super::Connection;
use super::buffer::Received;
use super::receiver::{Filled, Opened};
use crate::error::Error;

/// A TLS stream over anything that reads and writes.
///
/// `read` returns 0 after the peer's close_notify; an end of the transport without it is
/// [`io::ErrorKind::UnexpectedEof`], unless the configuration tolerates truncation. What a transport that
/// times out did not take is sent by the next `write` or `flush`.
#[derive(Debug)]
pub struct Stream<T> {
    transport: T,
    connection: Connection,
    received: Received,
    /// Plaintext that was opened but not yet asked for.
    opened: Vec<u8>,
    taken: usize,
    /// Records that the transport has not taken yet. They cannot be sealed again, so they are kept.
    sealed: Vec<u8>,
}

impl<T: Read + Write> Stream<T> {
    /// Joins a connection with its transport. `received` holds what the handshake has read too far.
    #[must_use]
    pub fn new(transport: T, connection: Connection, received: Received) -> Self {
        Self { transport, connection, received, opened: Vec::new(), taken: 0, sealed: Vec::new() }
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connection, to change it.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Sends close_notify and flushes. Reading goes on until the peer closes too.
    ///
    /// # Errors
    /// Those of the transport.
    pub fn close(&mut self) -> io::Result<()> {
        self.connection.sender.close(&mut self.sealed).map_err(to_io)?;
        self.send_sealed()?;
        self.transport.flush()
    }

    /// Changes to the next sending key, and asks the peer to do the same if `request` is set.
    /// RFC 9846 4.7.3
    ///
    /// # Errors
    /// Those of the transport; [`crate::Misuse::WrongVersion`] in TLS 1.2.
    pub fn update_key(&mut self, request: bool) -> io::Result<()> {
        self.connection.sender.update_key(request, &mut self.sealed).map_err(to_io)?;
        self.send_sealed()
    }

    /// Lets go of the memory that nothing needs before the next read or write: [`Connection::park`], and
    /// buffers. What is unread or unsent stays.
    pub fn park(&mut self) {
        self.connection.park();
        self.received.release();
        self.opened.drain(..self.taken.min(self.opened.len()));
        self.taken = 0;
        self.opened.shrink_to_fit();
        self.sealed.shrink_to_fit();
    }

    /// Takes the stream apart, if nothing would be lost by it.
    ///
    /// # Errors
    /// The stream itself, while plaintext is unread that was opened, or records are unsent.
    pub fn into_parts(self) -> Result<(T, Connection, Received), Box<Self>> {
        if !self.opened.is_empty() || !self.sealed.is_empty() {
            return Err(Box::new(self));
        }
        Ok((self.transport, self.connection, self.received))
    }

    fn send_sealed(&mut self) -> io::Result<()> {
        let mut sent = 0_usize;
        let result = loop {
            let rest = self.sealed.get(sent..).unwrap_or_default();
            if rest.is_empty() {
                break Ok(());
            }
            match self.transport.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => sent = sent.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.sealed.drain(..sent.min(self.sealed.len()));
        result
    }

    /// Whatever the receiver made necessary leaves now, errors' alerts included.
    fn send_control(&mut self) -> io::Result<()> {
        self.connection.sender.control(&mut self.sealed).map_err(to_io)?;
        self.send_sealed()
    }

    fn take_opened(&mut self, out: &mut [u8]) -> usize {
        let rest = self.opened.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(out.len());
        for (to, from) in out.iter_mut().zip(rest) {
            *to = *from;
        }
        self.taken = self.taken.saturating_add(count);
        if self.taken == self.opened.len() {
            self.opened = Vec::new();
            self.taken = 0;
        }
        count
    }

    fn open_aside(&mut self) -> Result<bool, Error> {
        match self.connection.receiver.open(&mut self.received)? {
            Opened::Data(data) => {
                self.opened.clear();
                self.opened.extend_from_slice(data);
                self.taken = 0;
                Ok(true)
            }
            Opened::More | Opened::Closed => Ok(false),
        }
    }
}

impl<T: Read + Write> Read for Stream<T> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.opened.is_empty() {
                return Ok(self.take_opened(out));
            }
            let filled = self.connection.receiver.open_into(&mut self.received, out);
            let filled = match filled {
                Ok(Filled::TooSmall) => match self.open_aside() {
                    Ok(_) => continue,
                    Err(error) => Err(error),
                },
                other => other,
            };
            // What cannot be sent is the next write's trouble: it may not hide what was read.
            let _ = self.send_control();
            match filled.map_err(to_io)? {
                Filled::Data(count) => return Ok(count),
                Filled::Closed => return Ok(0),
                Filled::TooSmall => {}
                Filled::More => {
                    if self.received.read_from(&mut self.transport)? == 0 {
                        self.connection.receiver.end_of_input().map_err(to_io)?;
                        return Ok(0);
                    }
                }
            }
        }
    }
}

impl<T: Read + Write> Write for Stream<T> {
    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let most = self.connection.sender.max_fragment().saturating_mul(4);
        let now = plaintext.get(..most).unwrap_or(plaintext);
        self.send_sealed()?;
        let sealed = self.connection.sender.seal_to(now, &mut self.sealed);
        let sent = self.send_sealed();
        sealed.map_err(to_io)?;
        match sent {
            // Sealed is written: the rest goes ahead of the next data, and no one need write this again.
            Err(error) if may_pass(&error) => Ok(now.len()),
            sent => sent.map(|()| now.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_control()?;
        self.transport.flush()
    }
}

/// Whether the transport may take more later.
fn may_pass(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// TLS errors in the language of `std::io`; the error itself is the inner one.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Truncated | Error::ClosedInHandshake => io::ErrorKind::UnexpectedEof,
            Error::AlertReceived(_) => io::ErrorKind::ConnectionAborted,
            Error::Misuse(_) => io::ErrorKind::InvalidInput,
            Error::Peer(_) | Error::Refused(_) => io::ErrorKind::InvalidData,
            Error::Local(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// The same, for `map_err`.
pub(crate) fn to_io(error: Error) -> io::Error {
    error.into()
}
