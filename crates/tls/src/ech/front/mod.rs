//! The client-facing server of split mode. RFC 9849 3.1, 7.1, 7.1.1
//!
//! The front decrypts the ClientHello, and the caller forwards the inner one to a backend server.
//! The backend server has the certificate, is configured with
//! [`ech_backend`](crate::server::ServerConfigBuilder::ech_backend), and needs no keys for
//! Encrypted ClientHello. Later messages are forwarded as they are, except a second ClientHello,
//! which is encrypted, too, and which the front decrypts.

mod client_records;
mod retry_detector;

use std::sync::Arc;

use tercel_wire::{
    ClientHello, ContentType, EncryptedClientHello, ExtensionType, HandshakeMessage, HandshakeType,
};

use super::{Keys, Opening, extension};
use crate::error::{Error, PeerError};
use crate::record::frame::{self, RecordVersion};
use crate::record::joiner::{Joiner, Message};
use crate::record::limits;
use client_records::{ClientRecords, Part};
use retry_detector::{Detected, RetryDetector};

/// A client-facing server's part in one connection, without I/O: decrypts the ClientHellos that it
/// forwards to a backend server.
///
/// ```no_run
/// # use std::io::{Error, Read, Write};
/// # use std::sync::Arc;
/// # use tercel::ech::{Front, FrontStep, Keys};
/// # fn run(keys: Arc<Keys>, mut client: impl Read + Write,
/// #     connect: impl Fn(Option<&str>) -> std::io::Result<std::net::TcpStream>,
/// #     terminate: impl Fn(Vec<u8>) -> std::io::Result<()>) -> std::io::Result<()> {
/// let (mut front, mut received) = (Front::new(keys), Vec::new());
/// let inner = loop {
///     match front.open(&received).map_err(Error::other)? {
///         FrontStep::Inner(inner) => break inner,
///         FrontStep::Receive => {
///             let mut buffer = [0; 4096];
///             let count = client.read(&mut buffer)?;
///             received.extend_from_slice(&buffer[..count]);
///         }
///         // Serve the public name, and send retry configurations.
///         _ => return terminate(received),
///     }
/// };
/// let mut backend = connect(inner.server_name())?;
/// let mut out = inner.records().to_vec();
/// front.receive_from_client(&received[inner.consumed()..], &mut out).map_err(Error::other)?;
/// backend.write_all(&out)?;
/// // Until `is_transparent`: the client's bytes pass through `receive_from_client`; the backend's
/// // bytes are given to `receive_from_backend`, and forwarded unchanged.
/// # Ok(()) }
/// ```
pub struct Front {
    keys: Arc<Keys>,
    stage: Stage,
}

enum Stage {
    /// The ClientHello is not complete. The number of bytes that were examined.
    FirstHello(Joiner, usize),
    /// The inner ClientHello is forwarded. The backend may send a HelloRetryRequest.
    Forwarded(Box<Forwarded>),
    /// All further bytes are forwarded as they are.
    Transparent,
    /// The client has broken a rule. Nothing is forwarded any more.
    Failed(Error),
}

struct Forwarded {
    opening: Opening,
    /// The server_name extension of the inner ClientHello.
    server_name: Option<Vec<u8>>,
    detector: RetryDetector,
    is_retried: bool,
    from_client: ClientRecords,
}

/// The result of [`Front::open`].
#[derive(Debug)]
#[non_exhaustive]
pub enum FrontStep {
    /// Receive more bytes.
    Receive,
    /// A key has opened the ClientHello, which is to be forwarded.
    Inner(InnerHello),
    /// No key has opened the ClientHello, or nothing in it is encrypted, or it is malformed. The
    /// received bytes are to be passed to a [`Handshake`](crate::Handshake) that has the keys, too:
    /// it sends retry configurations, and alerts.
    Outer,
}

/// A decrypted ClientHello. See [`FrontStep::Inner`].
pub struct InnerHello {
    server_name: Option<String>,
    outer_server_name: Option<String>,
    records: Vec<u8>,
    consumed: usize,
}

impl InnerHello {
    /// Returns the server name that the client requests.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// Returns the name that observers see.
    #[must_use]
    pub fn outer_server_name(&self) -> Option<&str> {
        self.outer_server_name.as_deref()
    }

    /// Returns the records to forward to the backend server.
    #[must_use]
    pub fn records(&self) -> &[u8] {
        &self.records
    }

    /// Returns the number of received bytes that the ClientHello consists of. Bytes behind it, such
    /// as early data, are to be passed to [`Front::receive_from_client`].
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.consumed
    }
}

debug_fields!(InnerHello: server_name, outer_server_name);

impl Front {
    /// Creates the state of a connection from which no byte is received.
    #[must_use]
    pub fn new(keys: Arc<Keys>) -> Self {
        Self { keys, stage: Stage::FirstHello(Joiner::default(), 0) }
    }

    /// Decrypts the ClientHello. `received` are all bytes that were received on the connection; the
    /// number of bytes that are accepted while the ClientHello is incomplete is up to the caller.
    /// RFC 9849 7.1
    ///
    /// # Errors
    /// A key has opened the ClientHello, but the inner one breaks a rule. The connection is to be
    /// closed, after sending the [alert](Error::alert) to the client. Further calls return the same
    /// error.
    pub fn open(&mut self, received: &[u8]) -> Result<FrontStep, Error> {
        let opened = self.try_open(received);
        if let Err(error) = opened {
            self.stage = Stage::Failed(error);
        }
        opened
    }

    fn try_open(&mut self, received: &[u8]) -> Result<FrontStep, Error> {
        let (joiner, examined) = match &mut self.stage {
            Stage::FirstHello(joiner, examined) => (joiner, examined),
            Stage::Failed(error) => return Err(*error),
            Stage::Forwarded(_) | Stage::Transparent => return Ok(FrontStep::Outer),
        };
        let hello = match read_hello(joiner, examined, received) {
            Ok(Some(hello)) => hello,
            Ok(None) => return Ok(FrontStep::Receive),
            Err(_) => return Ok(FrontStep::Outer),
        };
        let consumed = *examined;
        let Ok(parsed) = ClientHello::parse(hello.body()) else { return Ok(FrontStep::Outer) };
        let Ok(Some(EncryptedClientHello::Outer(outer))) = extension(&parsed) else {
            return Ok(FrontStep::Outer);
        };
        let Some((opening, inner)) = Opening::first(&self.keys.current(), &outer, &hello)? else {
            return Ok(FrontStep::Outer);
        };
        // A change of keys follows the ClientHello. RFC 9846 5.1
        if !joiner.is_empty() {
            return Err(PeerError::ExcessHandshakeData.into());
        }
        let mut records = Vec::new();
        // The record of a first ClientHello has version 3.1, for old servers. RFC 9846 5.1
        write_records(inner.bytes(), [3, 1], &mut records);
        let inner = ClientHello::parse(inner.body())?;
        let [server_name, outer_server_name] =
            [&inner, &parsed].map(|hello| hello.host_name().map(str::to_owned));
        self.stage = Stage::Forwarded(Box::new(Forwarded {
            opening,
            server_name: name_extension(&inner).map(<[u8]>::to_vec),
            detector: RetryDetector::default(),
            is_retried: false,
            from_client: ClientRecords::default(),
        }));
        let inner = InnerHello { server_name, outer_server_name, records, consumed };
        Ok(FrontStep::Inner(inner))
    }

    /// Examines bytes that were received from the client after the first ClientHello, and appends
    /// to `out` the bytes to forward to the backend server. A second ClientHello is decrypted. It
    /// must have the same server name as the first. RFC 9849 7.1.1, RFC 9846 4.2.2
    ///
    /// # Errors
    /// The client breaks a rule. The connections are to be closed, after sending the
    /// [alert](Error::alert) to the client. Further calls return the same error.
    pub fn receive_from_client(&mut self, received: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let result = self.forward(received, out);
        if let Err(error) = result {
            self.stage = Stage::Failed(error);
        }
        result
    }

    fn forward(&mut self, received: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let forwarded = match &mut self.stage {
            Stage::Forwarded(forwarded) => forwarded,
            Stage::Failed(error) => return Err(*error),
            Stage::FirstHello(..) | Stage::Transparent => {
                out.extend_from_slice(received);
                return Ok(());
            }
        };
        let mut rest = received;
        while !rest.is_empty() {
            match forwarded.from_client.next(&mut rest, out)? {
                Part::Other => {}
                // Without a HelloRetryRequest, the client's next message is encrypted.
                Part::HandshakeBegins if !forwarded.is_retried => {
                    return Err(PeerError::UnexpectedMessage.into());
                }
                Part::HandshakeBegins => {}
                Part::Message(second) => {
                    second.require(HandshakeType::CLIENT_HELLO)?;
                    let parsed = ClientHello::parse(second.body())?;
                    let inner = forwarded.opening.second(extension(&parsed)?, &second)?;
                    // The caller has selected the backend server by the first name, and backend
                    // servers exist that use the second one. RFC 9846 4.2.2
                    let parsed = ClientHello::parse(inner.body())?;
                    if name_extension(&parsed) != forwarded.server_name.as_deref() {
                        return Err(PeerError::SecondHelloChanged.into());
                    }
                    write_records(inner.bytes(), [3, 3], out);
                    out.extend_from_slice(rest);
                    self.stage = Stage::Transparent;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Examines bytes that were received from the backend server, which are to be forwarded to the
    /// client as they are: they may contain a HelloRetryRequest. RFC 9849 7.1.1
    pub fn receive_from_backend(&mut self, received: &[u8]) {
        let Stage::Forwarded(forwarded) = &mut self.stage else { return };
        if forwarded.is_retried {
            return;
        }
        match forwarded.detector.push(received) {
            Detected::Unknown => {}
            Detected::Retry => forwarded.is_retried = true,
            Detected::NoRetry => self.stage = Stage::Transparent,
        }
    }

    /// Whether all further bytes are to be forwarded as they are.
    #[must_use]
    pub fn is_transparent(&self) -> bool {
        matches!(self.stage, Stage::Transparent)
    }
}

debug_fields!(Front, front: is_transparent = front.is_transparent());

/// Returns the first message if it is complete. `examined` is increased by the records before its
/// end.
fn read_hello(
    joiner: &mut Joiner,
    examined: &mut usize,
    received: &[u8],
) -> Result<Option<Message>, Error> {
    loop {
        let rest = received.get(*examined..).unwrap_or_default();
        let Some(frame) = frame::first(rest, RecordVersion::AnyVersion, false)? else {
            return Ok(None);
        };
        let content = rest.get(limits::HEADER..frame.total).unwrap_or_default();
        // The ClientHello comes first. Other records, and empty ones, are left to a handshake.
        if frame.content_type != ContentType::HANDSHAKE || content.is_empty() {
            return Err(PeerError::UnexpectedRecord.into());
        }
        *examined = examined.saturating_add(frame.total);
        joiner.push(content);
        if let Some(message) = joiner.next()? {
            message.require(HandshakeType::CLIENT_HELLO)?;
            return Ok(Some(message));
        }
    }
}

/// Returns the body of the server_name extension.
fn name_extension<'a>(hello: &ClientHello<'a>) -> Option<&'a [u8]> {
    let mut received = hello.extensions.received.iter();
    let found = received.find(|(kind, _)| *kind == ExtensionType::SERVER_NAME);
    found.map(|(_, body)| body)
}

/// Writes a message in records.
fn write_records(message: &[u8], version: [u8; 2], out: &mut Vec<u8>) {
    for content in message.chunks(limits::MAX_FRAGMENT) {
        out.push(ContentType::HANDSHAKE.0);
        out.extend_from_slice(&version);
        out.extend_from_slice(&u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes());
        out.extend_from_slice(content);
    }
}
