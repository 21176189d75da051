//! [`Stream`]: a connection over a blocking transport, with `Read` and `Write`.

use core::fmt;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use tercel_pki::ServerName;

use crate::config::client::ClientConfig;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::post_handshake_auth::client::CertificateRequested;
use crate::connection::post_handshake_auth::server::ClientCertificate;
use crate::connection::receiver::{Filled, Opened};
use crate::error::handshake::HandshakeError;
use crate::error::{Error, InternalError, PeerError};
use crate::handshake::Handshake;
use crate::io::drain::{HalfClose, MAX_DRAIN_TIME, MAX_DRAINED_BYTES};
use crate::record::limits;

/// A TLS connection over a blocking transport.
///
/// `read` returns 0 after the peer's close_notify. If the transport ends without a close_notify,
/// `read` returns [`io::ErrorKind::UnexpectedEof`], unless the configuration tolerates truncation.
///
/// If the transport would block or times out while writing, the next `write` or `flush` sends the
/// remaining bytes. [`Self::close`] and [`Self::close_now`] have to be called again in that case.
///
/// [`Self::close`] delivers what was written. Dropping a stream without it is an abort: the peer
/// gets no close_notify, and if received bytes are unread, the operating system may reset the
/// connection and discard data that was written before.
///
/// A client that offers post-handshake authentication answers certificate requests while it reads,
/// with the credentials of its configuration. If the credentials are [`crate::Policy::Ask`], `read`
/// fails.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::io::{Read, Write};
/// use tercel::{ClientConfig, Stream};
///
/// let config = ClientConfig::builder().native_roots().build()?;
/// let transport = std::net::TcpStream::connect("example.com:443")?;
/// let mut stream = Stream::connect(&config, "example.com".try_into()?, transport)?;
/// stream.write_all(b"GET / HTTP/1.0\r\nHost: example.com\r\n\r\n")?;
/// let mut page = String::new();
/// stream.read_to_string(&mut page)?;
/// stream.close()?;
/// # Ok(()) }
/// ```
pub struct Stream<T> {
    transport: T,
    connection: Connection,
    received: ReceiveBuffer,
    /// Decrypted application data. The first `taken` bytes were read already.
    opened: Vec<u8>,
    taken: usize,
    /// Records that the transport has not accepted yet.
    sealed: Vec<u8>,
    /// Server: answers to certificate requests that the caller has not taken yet.
    certificates: Vec<ClientCertificate>,
    /// The state of [`Self::close`], after the writing side was closed.
    drain: Option<Box<Drain>>,
}

/// What is left of the limits of a close.
struct Drain {
    bytes: usize,
    deadline: Instant,
}

impl<T: Read + Write> Stream<T> {
    /// Runs a client's handshake with the server of this name over `transport`.
    ///
    /// For a transport that may time out during the handshake, see [`Handshake::complete`]. For a
    /// configuration that asks questions, see [`Handshake::advance`].
    ///
    /// # Errors
    /// The errors of the transport; [`HandshakeError`] as the inner error of an [`io::Error`].
    pub fn connect(
        config: &Arc<ClientConfig>,
        server: ServerName<'static>,
        transport: T,
    ) -> io::Result<Self> {
        complete(Handshake::client(Arc::clone(config), server), transport)
    }

    /// Runs a server's handshake over `transport`. See [`Self::connect`].
    ///
    /// # Errors
    /// As for [`Self::connect`].
    pub fn accept(config: &Arc<ServerConfig>, transport: T) -> io::Result<Self> {
        complete(Handshake::server(Arc::clone(config)), transport)
    }

    /// Creates a stream from a connection and its transport. `received` contains the bytes that
    /// were received after the handshake's messages.
    #[must_use]
    pub fn new(transport: T, connection: Connection, received: ReceiveBuffer) -> Self {
        Self {
            transport,
            connection,
            received,
            opened: Vec::new(),
            taken: 0,
            sealed: Vec::new(),
            certificates: Vec::new(),
            drain: None,
        }
    }

    /// Creates a stream like [`Self::new`], with records of the handshake that have to be sent
    /// first. If the transport does not accept them now, they are sent before any other record.
    pub(crate) fn with_unsent(
        transport: T,
        connection: Connection,
        received: ReceiveBuffer,
        sealed: Vec<u8>,
    ) -> Self {
        let mut stream = Self { sealed, ..Self::new(transport, connection, received) };
        let _ = stream.send_sealed().and_then(|()| stream.transport.flush());
        stream
    }

    /// Sends close_notify and flushes, without waiting for the peer. The peer's data can still be
    /// read until the peer closes too. RFC 9846 6.1
    ///
    /// If the transport is a socket and is dropped with received bytes unread, the operating system
    /// may reset the connection, and data that was written before may be lost. Read until the end
    /// first, or use [`Self::close`].
    ///
    /// # Errors
    /// The errors of the transport.
    pub fn close_now(&mut self) -> io::Result<()> {
        self.connection.sender.close(&mut self.sealed).map_err(to_io)?;
        self.send_sealed()?;
        self.transport.flush()
    }

    /// Updates the sending key. If `request` is set, also requests an update of the peer's sending
    /// key. RFC 9846 4.7.3
    ///
    /// # Errors
    /// The errors of the transport;
    /// [`Misuse::WrongVersion`](crate::error::Misuse::WrongVersion) in TLS 1.2.
    pub fn update_key(&mut self, request: bool) -> io::Result<()> {
        self.connection.sender.update_key(request, &mut self.sealed).map_err(to_io)?;
        self.send_sealed_now()
    }

    /// Server: requests the client's certificate (TLS 1.3) without waiting for the answer. A later
    /// read receives the answer: see [`Self::take_client_certificates`]. Returns the
    /// `certificate_request_context`. RFC 9846 4.7.2
    ///
    /// # Errors
    /// The errors of [`Connection::request_certificate`], of
    /// [`check_verifies`](crate::server::CertificateRequester::check_verifies) and of the
    /// transport.
    pub fn request_certificate(&mut self, demand: ClientAuth) -> io::Result<Vec<u8>> {
        if let Some(requester) = &self.connection.requester {
            requester.check_verifies().map_err(to_io)?;
        }
        let context = self.connection.request_certificate(demand, &mut self.sealed);
        let context = context.map_err(to_io)?;
        self.send_sealed_now()?;
        Ok(context)
    }

    /// Server: requests the client's certificate (TLS 1.3) and waits for the answer. Up to 256 KiB
    /// of data received before the answer are buffered for the next reads. With
    /// [`ClientAuth::Required`], a client without a certificate is refused. RFC 9846 4.7.2
    ///
    /// The certificate was verified. A stream asks no questions: with a verifier that is
    /// [`crate::Policy::Ask`], request the certificate with [`Connection::request_certificate`] and
    /// verify [`ClientCertificate::identity`].
    ///
    /// # Errors
    /// The errors of [`Self::request_certificate`]; [`io::ErrorKind::UnexpectedEof`] if the client
    /// closes the connection instead of answering.
    pub fn authenticate_client(&mut self, demand: ClientAuth) -> io::Result<ClientCertificate> {
        let context = self.request_certificate(demand)?;
        loop {
            let found = self.certificates.iter().position(|answer| answer.context() == context);
            if let Some(place) = found {
                return Ok(self.certificates.swap_remove(place));
            }
            let step = self.open_next();
            let _ = self.send_control();
            match step.map_err(to_io)? {
                Step::Progress if self.opened.len() > limits::MAX_HELD_DATA => {
                    return Err(io::Error::other("too much data before the client's certificate"));
                }
                Step::Progress => {}
                Step::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                Step::NeedsInput => {
                    if self.received.read_from(&mut self.transport)? == 0 {
                        self.connection.receiver.end_of_input().map_err(to_io)?;
                    }
                }
            }
        }
    }

    /// Server: returns the answers to certificate requests that earlier reads received. Those to
    /// requests of [`Connection::request_certificate`] are possibly not verified:
    /// [`ClientCertificate::is_verified`].
    #[must_use]
    pub fn take_client_certificates(&mut self) -> Vec<ClientCertificate> {
        core::mem::take(&mut self.certificates)
    }

    /// Frees the memory that an idle connection does not need: expanded keys, see
    /// [`Connection::park`], and buffers. Unread and unsent bytes are kept.
    pub fn park(&mut self) {
        self.connection.park();
        self.received.release();
        self.opened.drain(..self.taken.min(self.opened.len()));
        self.taken = 0;
        self.opened.shrink_to_fit();
        self.sealed.shrink_to_fit();
    }

    /// Returns the transport, the connection, and the received bytes that are not decrypted yet.
    ///
    /// # Errors
    /// Returns the stream itself, if there are decrypted bytes to read, records to send, or client
    /// certificates to take.
    pub fn into_parts(self) -> Result<(T, Connection, ReceiveBuffer), Box<Self>> {
        if !self.opened.is_empty() || !self.sealed.is_empty() || !self.certificates.is_empty() {
            return Err(Box::new(self));
        }
        Ok((self.transport, self.connection, self.received))
    }

    fn send_sealed(&mut self) -> io::Result<()> {
        send_all(&mut self.transport, &mut self.sealed)
    }

    /// Sends the sealed records. If the transport would block, the remaining bytes are sent before
    /// the next data.
    fn send_sealed_now(&mut self) -> io::Result<()> {
        match self.send_sealed().and_then(|()| self.transport.flush()) {
            Err(error) if is_temporary(&error) => Ok(()),
            sent => sent,
        }
    }

    /// Sends protocol messages that result from received records, such as alerts and key updates.
    /// No message is added while earlier records are unsent. Otherwise a peer that requests key
    /// updates and does not read could make the buffer grow without limit.
    fn send_control(&mut self) -> io::Result<()> {
        let had_unsent = !self.sealed.is_empty();
        self.send_sealed()?;
        self.connection.sender.control(&mut self.sealed).map_err(to_io)?;
        if had_unsent || !self.sealed.is_empty() {
            self.send_sealed()?;
            self.transport.flush()?;
        }
        Ok(())
    }

    fn take_opened(&mut self, out: &mut [u8]) -> usize {
        let rest = self.opened.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.taken = self.taken.saturating_add(count);
        if self.taken == self.opened.len() {
            self.opened = Vec::new();
            self.taken = 0;
        }
        count
    }

    /// Opens the next record. Appends its data to the data that is not read yet.
    fn open_next(&mut self) -> Result<Step, Error> {
        match self.connection.receiver.open(&mut self.received)? {
            Opened::Data(data) => self.opened.extend_from_slice(data),
            Opened::CertificateRequested(request) => self.answer(request)?,
            Opened::ClientCertificate(certificate) => self.certificates.push(certificate),
            Opened::More => return Ok(Step::NeedsInput),
            Opened::Closed => return Ok(Step::Closed),
        }
        Ok(Step::Progress)
    }

    /// Answers a certificate request with a credential of the configuration. Refuses a server that
    /// sends requests without reading the answers. RFC 9846 4.7.2
    fn answer(&mut self, request: CertificateRequested) -> Result<(), Error> {
        if self.sealed.len() > limits::MAX_HELD_DATA {
            return Err(PeerError::TooManyCertificateRequests.into());
        }
        let credential = request.select()?;
        let sender = &mut self.connection.sender;
        match sender.authenticate(request, credential.as_ref(), &mut self.sealed) {
            // After close_notify no answer can be sent, but data can still be read.
            Err(Error::Internal(InternalError::Closed)) => Ok(()),
            other => other,
        }
    }
}

impl<T: HalfClose> Stream<T> {
    /// Closes the connection so that the peer receives all that was written: sends close_notify,
    /// closes the writing side of the transport, and discards received data until the peer closes,
    /// but for at most [`MAX_DRAIN_TIME`] and [`MAX_DRAINED_BYTES`]. RFC 9846 6.1
    ///
    /// Read the peer's data before this call; later reads fail. To close without waiting, or to
    /// read afterwards, use [`Self::close_now`].
    ///
    /// If the transport is in non-blocking mode, [`io::ErrorKind::WouldBlock`] is returned until
    /// the peer has closed or a limit is reached: call this method again when there is input, and
    /// after [`MAX_DRAIN_TIME`].
    ///
    /// # Errors
    /// The errors of the transport while sending. An error while waiting for the peer only ends the
    /// wait.
    pub fn close(&mut self) -> io::Result<()> {
        if self.drain.is_none() {
            self.close_now()?;
            match self.transport.close_write() {
                // The peer has closed already.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                closed => closed?,
            }
            let now = Instant::now();
            let deadline = now.checked_add(MAX_DRAIN_TIME).unwrap_or(now);
            self.drain = Some(Box::new(Drain { bytes: MAX_DRAINED_BYTES, deadline }));
            self.opened = Vec::new();
            self.taken = 0;
        }
        while !self.is_drained() {
            let Some(drain) = &mut self.drain else { break };
            let left = drain.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || drain.bytes == 0 {
                break;
            }
            // A read that ends by this limit ends after the deadline.
            if self.transport.limit_reads(left.saturating_add(TIMER_STEP)).is_err() {
                break;
            }
            match self.received.read_from(&mut self.transport) {
                Ok(count) if count > 0 => drain.bytes = drain.bytes.saturating_sub(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_temporary(&error) && Instant::now() < drain.deadline => {
                    return Err(error);
                }
                Ok(_) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// Discards received records. Returns whether the peer has closed, or sent an alert or records
    /// that are not valid.
    fn is_drained(&mut self) -> bool {
        loop {
            match self.connection.receiver.open(&mut self.received) {
                Ok(Opened::More) => return false,
                Ok(Opened::Closed) | Err(_) => return true,
                Ok(_) => {}
            }
        }
    }
}

/// A time above the resolution of timeouts of sockets.
const TIMER_STEP: Duration = Duration::from_millis(10);

impl<T> Stream<T> {
    /// Returns the connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the connection for modification.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns the transport.
    #[must_use]
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Returns the transport, to change its settings. It must not be read from or written to.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Replaces the transport by the result of `change`, which must carry the same byte stream: for
    /// instance a reference to a socket by the socket itself.
    #[must_use]
    pub fn map_transport<U>(self, change: impl FnOnce(T) -> U) -> Stream<U> {
        Stream {
            transport: change(self.transport),
            connection: self.connection,
            received: self.received,
            opened: self.opened,
            taken: self.taken,
            sealed: self.sealed,
            certificates: self.certificates,
            drain: self.drain,
        }
    }

    /// Returns the number of decrypted bytes, which a read returns without using the transport.
    /// Records that were received but not decrypted are not counted. So even if the result is 0, a
    /// read may return data without waiting.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.opened.len().saturating_sub(self.taken)
    }
}

/// The output contains no plaintext and no records.
impl<T: fmt::Debug> fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("transport", &self.transport)
            .field("connection", &self.connection)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

/// The result of [`Stream::open_next`].
enum Step {
    Progress,
    NeedsInput,
    Closed,
}

impl<T: Read + Write> Read for Stream<T> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if self.drain.is_some() {
            // Data was discarded, so a read must not look like the end of the peer's data.
            return Err(io::ErrorKind::NotConnected.into());
        }
        loop {
            if !self.opened.is_empty() {
                return Ok(self.take_opened(out));
            }
            let filled = self.connection.receiver.open_into(&mut self.received, out);
            let filled = match filled {
                Ok(Filled::TooSmall) => match self.open_next() {
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
            // An error that persists is returned by the next write. Returning it here would hide
            // the data that was read.
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
        let limit = self.connection.sender.max_fragment().saturating_mul(4);
        let chunk = plaintext.get(..limit).unwrap_or(plaintext);
        self.send_sealed()?;
        let sealed = self.connection.sender.seal_to(chunk, &mut self.sealed);
        let sent = self.send_sealed();
        sealed.map_err(to_io)?;
        match sent {
            // These bytes count as written, since their records are sent before the next data.
            Err(error) if is_temporary(&error) => Ok(chunk.len()),
            sent => sent.map(|()| chunk.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_control()?;
        self.transport.flush()
    }
}

/// Sends `bytes` and removes the bytes that were sent, even if an error ends the transfer.
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

/// Whether the error is temporary, so that a later call may succeed.
pub(crate) fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Creates an [`io::Error`] of a matching kind, with this error as its inner error.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Truncated | Error::ClosedInHandshake => io::ErrorKind::UnexpectedEof,
            Error::AlertReceived(_) => io::ErrorKind::ConnectionAborted,
            Error::Misuse(_) => io::ErrorKind::InvalidInput,
            Error::Peer(_) | Error::Refused(_) | Error::EchRejected => io::ErrorKind::InvalidData,
            Error::Internal(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Runs a handshake. The caller cannot ask it for the details of a refusal, so the error has them.
fn complete<T: Read + Write>(mut handshake: Handshake, transport: T) -> io::Result<Stream<T>> {
    handshake.complete(transport).map_err(|error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        match inner {
            Some(&inner) => {
                let inner = HandshakeError::new(inner, handshake.refusal());
                io::Error::new(error.kind(), inner)
            }
            None => error,
        }
    })
}

/// Converts an [`Error`] to an [`io::Error`], for `map_err`.
pub(crate) fn to_io(error: Error) -> io::Error {
    error.into()
}
