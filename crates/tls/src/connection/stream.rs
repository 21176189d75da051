//! A connection over a blocking transport, as `Read + Write`.
//!
//! Must not know: the protocol; it moves bytes between a transport and the halves.
//! Next: [`super::sender`], [`super::receiver`].

use std::io::{self, Read, Write};

use super::Connection;
use super::authentication::client::CertificateRequested;
use super::authentication::server::ClientCertificate;
use super::buffer::Received;
use super::receiver::{Filled, Opened};
use crate::config::server::ClientAuth;
use crate::error::{Error, Local, Peer};
use crate::record::limits;

/// A TLS stream over anything that reads and writes.
///
/// `read` returns 0 after the peer's close_notify; an end of the transport without it is
/// [`io::ErrorKind::UnexpectedEof`], unless the configuration tolerates truncation. A client that offers
/// authentication after the handshake answers requests for it while it reads, by the credentials of its
/// configuration; questions are not answered. What a transport that
/// times out, or would block, did not take is sent by the next `write` or `flush`; [`Self::close`] is called again then.
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
    /// Server: answers to requests for a certificate that nobody has taken.
    certificates: Vec<ClientCertificate>,
}

impl<T: Read + Write> Stream<T> {
    /// Joins a connection with its transport. `received` holds what the handshake has read too far.
    #[must_use]
    pub fn new(transport: T, connection: Connection, received: Received) -> Self {
        Self {
            transport,
            connection,
            received,
            opened: Vec::new(),
            taken: 0,
            sealed: Vec::new(),
            certificates: Vec::new(),
        }
    }

    /// The same, with records that the handshake has left to send. What the transport does not take now goes
    /// ahead of everything else, or the peer would lose count of the records.
    pub(crate) fn with_unsent(
        transport: T,
        connection: Connection,
        received: Received,
        sealed: Vec<u8>,
    ) -> Self {
        let mut stream = Self { sealed, ..Self::new(transport, connection, received) };
        let _ = stream.send_sealed().and_then(|()| stream.transport.flush());
        stream
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
        self.send_sealed_now()
    }

    /// Server: asks for the client's certificate, as [`Connection::request_certificate`], without
    /// waiting: the answer comes with later reads, see [`Self::take_client_certificates`]. RFC 9846 4.7.2
    ///
    /// # Errors
    /// Those of [`Connection::request_certificate`] and of the transport.
    pub fn request_certificate(&mut self, demand: ClientAuth) -> io::Result<Vec<u8>> {
        let context = self.connection.request_certificate(demand, &mut self.sealed);
        let context = context.map_err(to_io)?;
        self.send_sealed_now()?;
        Ok(context)
    }

    /// Server: asks for the client's certificate and waits for the answer (TLS 1.3). Data that comes
    /// before it is kept for the next reads, 256 KiB at most. With [`ClientAuth::Required`], a client
    /// that declines is refused. RFC 9846 4.7.2
    ///
    /// A certificate that comes back is judged only if [`ClientCertificate::is_verified`] says so: where the
    /// configuration asks, that is left to the caller.
    ///
    /// # Errors
    /// Those of [`Connection::request_certificate`] and of the transport; if the client closes instead
    /// of answering, [`io::ErrorKind::UnexpectedEof`].
    pub fn authenticate_client(&mut self, demand: ClientAuth) -> io::Result<ClientCertificate> {
        let context = self.request_certificate(demand)?;
        loop {
            let found = self.certificates.iter().position(|answer| answer.context() == context);
            if let Some(place) = found {
                return Ok(self.certificates.swap_remove(place));
            }
            let step = self.open_aside();
            let _ = self.send_control();
            match step.map_err(to_io)? {
                Aside::Something if self.opened.len() > limits::MAX_HELD_DATA => {
                    return Err(io::Error::other("too much data instead of a certificate"));
                }
                Aside::Something => {}
                Aside::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                Aside::More => {
                    if self.received.read_from(&mut self.transport)? == 0 {
                        self.connection.receiver.end_of_input().map_err(to_io)?;
                    }
                }
            }
        }
    }

    /// Server: the answers to requests for a certificate, as far as they came with what was read.
    #[must_use]
    pub fn take_client_certificates(&mut self) -> Vec<ClientCertificate> {
        core::mem::take(&mut self.certificates)
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
    /// The stream itself, while plaintext is unread that was opened, records are unsent, or a client's
    /// certificate is not taken.
    pub fn into_parts(self) -> Result<(T, Connection, Received), Box<Self>> {
        if !self.opened.is_empty() || !self.sealed.is_empty() || !self.certificates.is_empty() {
            return Err(Box::new(self));
        }
        Ok((self.transport, self.connection, self.received))
    }

    fn send_sealed(&mut self) -> io::Result<()> {
        send_all(&mut self.transport, &mut self.sealed)
    }

    /// Sends what is sealed, as far as the transport takes it now. What it may take later goes ahead of the next data.
    fn send_sealed_now(&mut self) -> io::Result<()> {
        match self.send_sealed().and_then(|()| self.transport.flush()) {
            Err(error) if may_pass(&error) => Ok(()),
            sent => sent,
        }
    }

    /// Whatever the receiver made necessary leaves now, errors' alerts included. Nothing is put behind what
    /// the transport does not take: a peer that asks for key updates and does not read could have us hold
    /// any amount of them.
    fn send_control(&mut self) -> io::Result<()> {
        let waited = !self.sealed.is_empty();
        self.send_sealed()?;
        self.connection.sender.control(&mut self.sealed).map_err(to_io)?;
        if waited || !self.sealed.is_empty() {
            self.send_sealed()?;
            self.transport.flush()?;
        }
        Ok(())
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

    /// Opens what comes next; data is put behind that which waits to be read.
    fn open_aside(&mut self) -> Result<Aside, Error> {
        match self.connection.receiver.open(&mut self.received)? {
            Opened::Data(data) => self.opened.extend_from_slice(data),
            Opened::CertificateRequested(request) => self.answer(request)?,
            Opened::ClientCertificate(certificate) => self.certificates.push(certificate),
            Opened::More => return Ok(Aside::More),
            Opened::Closed => return Ok(Aside::Closed),
        }
        Ok(Aside::Something)
    }

    /// Answers a request for our certificate as the configuration says. A server that asks on and on, and
    /// takes no answer, is refused. RFC 9846 4.7.2
    fn answer(&mut self, request: CertificateRequested) -> Result<(), Error> {
        if self.sealed.len() > limits::MAX_HELD_DATA {
            return Err(Peer::TooManyCertificateRequests.into());
        }
        let credential = request.select()?;
        let sender = &mut self.connection.sender;
        match sender.authenticate(request, credential.as_ref(), &mut self.sealed) {
            // Who has closed says nothing more, and reads on.
            Err(Error::Local(Local::Closed)) => Ok(()),
            other => other,
        }
    }
}

/// What [`Stream::open_aside`] found.
enum Aside {
    Something,
    More,
    Closed,
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
                    Ok(_) => {
                        let _ = self.send_control();
                        continue;
                    }
                    Err(error) => Err(error),
                },
                other => other,
            };
            let filled = match filled {
                Ok(Filled::CertificateRequested(request)) => {
                    self.answer(request).map(|()| Filled::TooSmall)
                }
                other => other,
            };
            // What cannot be sent is the next write's trouble: it may not hide what was read.
            let _ = self.send_control();
            match filled.map_err(to_io)? {
                Filled::Data(count) => return Ok(count),
                Filled::Closed => return Ok(0),
                Filled::ClientCertificate(certificate) => self.certificates.push(certificate),
                Filled::TooSmall | Filled::CertificateRequested(_) => {}
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

/// Sends `bytes` and lets go of what was sent, also if not all of it was.
pub(crate) fn send_all(transport: &mut impl Write, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut sent = 0_usize;
    let result = loop {
        let rest = bytes.get(sent..).unwrap_or_default();
        if rest.is_empty() {
            break Ok(());
        }
        match transport.write(rest) {
            Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => sent = sent.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    bytes.drain(..sent.min(bytes.len()));
    result
}

/// Whether the transport may take, or have, more later.
pub(crate) fn may_pass(error: &io::Error) -> bool {
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
