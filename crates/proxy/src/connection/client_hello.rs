//! Reads the ClientHello of a listener with routes that do not terminate TLS, and selects the route
//! by its server name.
//!
//! The handshake of the library reads and checks the ClientHello, so that malformed ones get the
//! same alert as on other listeners. It stops for the choice of a configuration. If the route
//! terminates TLS, the handshake continues. Otherwise it is dropped, and the received bytes are
//! relayed.

use std::io;

use tercel::error::PeerError;
use tercel::{Answer, Error, Handshake, Next, Question, ReceiveBuffer};
use tercel_tokio::HandshakeError;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::active_config::server_names::{HelloSelector, RouteKind};

/// The maximum number of bytes received up to the end of a ClientHello, record headers included.
pub(crate) const MAX_RECEIVED: usize = 16 * 1024;

/// The number of bytes of a first read, which most ClientHellos fit in.
const FIRST_READ: usize = 4096;

/// The route that a ClientHello selects.
pub(crate) enum Selected {
    /// The route terminates TLS. The handshake has its configuration.
    Terminate(Box<StartedHandshake>),
    /// The route relays the connection.
    Passthrough(PassthroughHello),
}

/// A handshake that has read the ClientHello.
pub(crate) struct StartedHandshake {
    pub(crate) handshake: Handshake,
    pub(crate) received: ReceiveBuffer,
}

/// The beginning of a connection that is relayed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PassthroughHello {
    pub(crate) route: usize,
    pub(crate) server_name: Option<String>,
    /// Whether the ClientHello has to be decrypted: a key has opened it, and the route is the front
    /// of split mode. The server name is that of the inner ClientHello.
    pub(crate) is_encrypted: bool,
    /// All received bytes.
    pub(crate) received: Vec<u8>,
}

/// Reads a ClientHello without I/O.
pub(crate) struct HelloReader<'a> {
    selector: &'a HelloSelector,
    handshake: Handshake,
    unprocessed: ReceiveBuffer,
    /// All received bytes.
    received: Vec<u8>,
    /// An alert to send after an error.
    out: Vec<u8>,
}

impl<'a> HelloReader<'a> {
    pub(crate) fn new(selector: &'a HelloSelector) -> Self {
        let handshake = Handshake::server(selector.config.clone());
        let (unprocessed, received) = (ReceiveBuffer::new(), Vec::new());
        Self { selector, handshake, unprocessed, received, out: Vec::new() }
    }

    /// The number of bytes that may be passed to [`Self::push`] now.
    pub(crate) fn room(&self) -> usize {
        MAX_RECEIVED.saturating_sub(self.received.len())
    }

    /// Processes received bytes. Returns the route once the ClientHello is complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Option<Selected>, Error> {
        self.received.extend_from_slice(bytes);
        self.unprocessed.extend(bytes);
        match self.handshake.advance(&mut self.unprocessed, &mut self.out)? {
            Next::Answer(Question::ChooseConfig(question)) => {
                let hello = question.client_hello();
                let name = hello.host_name();
                match self.selector.select(name) {
                    Some((_, RouteKind::Terminate(config))) => {
                        self.terminate(question.answer(Some(config))).map(Some)
                    }
                    Some((route, kind)) => {
                        let is_inner = hello.extensions.encrypted_client_hello == Some(&[1]);
                        Ok(Some(Selected::Passthrough(PassthroughHello {
                            route,
                            server_name: name.map(str::to_owned),
                            is_encrypted: is_inner && matches!(kind, RouteKind::EchFront),
                            received: std::mem::take(&mut self.received),
                        })))
                    }
                    None => self.refuse(question.answer(None)),
                }
            }
            _ if self.room() == 0 => self.too_long(),
            _ => Ok(None),
        }
    }

    /// The alert to send after an error; empty if there is none.
    pub(crate) fn alert(&self) -> &[u8] {
        &self.out
    }

    /// Ends the reading at the end of the transport's input.
    pub(crate) fn end_of_input(&mut self) -> Error {
        match self.handshake.end_of_input() {
            Err(error) => error,
            Ok(()) => Error::Truncated,
        }
    }

    fn terminate(&mut self, answer: Answer) -> Result<Selected, Error> {
        self.handshake.answer(answer)?;
        let unused = Handshake::server(self.selector.config.clone());
        let handshake = std::mem::replace(&mut self.handshake, unused);
        let received = std::mem::take(&mut self.unprocessed);
        Ok(Selected::Terminate(Box::new(StartedHandshake { handshake, received })))
    }

    /// Refuses a name without a route, as listeners do that terminate all TLS.
    fn refuse(&mut self, answer: Answer) -> Result<Option<Selected>, Error> {
        self.handshake.answer(answer)?;
        match self.handshake.advance(&mut self.unprocessed, &mut self.out) {
            Err(error) => Err(error),
            // The handshake cannot continue without a configuration.
            Ok(_) => Err(Error::Truncated),
        }
    }

    fn too_long(&mut self) -> Result<Option<Selected>, Error> {
        let error = Error::Peer(PeerError::MessageTooLong);
        self.out.extend(error.alert().map(alert_record).into_iter().flatten());
        Err(error)
    }
}

/// A record with a fatal alert, before keys are agreed. RFC 9846 5.1, 6
pub(crate) fn alert_record(alert: tercel::wire::AlertDescription) -> [u8; 7] {
    [21, 3, 3, 0, 2, 2, alert.0]
}

/// Reads a ClientHello from the transport. After an error, the client has received the alert.
pub(crate) async fn read<T: AsyncRead + AsyncWrite + Unpin>(
    selector: &HelloSelector,
    transport: &mut T,
) -> io::Result<Selected> {
    let mut reader = HelloReader::new(selector);
    let mut buffer = vec![0; FIRST_READ];
    loop {
        let room = reader.room().min(buffer.len());
        let count = transport.read(buffer.get_mut(..room).unwrap_or_default()).await?;
        if count == 0 {
            return Err(failure(reader.end_of_input()));
        }
        match reader.push(buffer.get(..count).unwrap_or_default()) {
            Ok(None) => {}
            Ok(Some(selected)) => return Ok(selected),
            Err(error) => {
                // The error is reported whether or not the alert could be sent.
                let _ = transport.write_all(reader.alert()).await;
                return Err(failure(error));
            }
        }
    }
}

/// Selects the route again, with other keys for Encrypted ClientHello than before.
pub(crate) fn select_again(selector: &HelloSelector, received: &[u8]) -> io::Result<Selected> {
    match HelloReader::new(selector).push(received) {
        Ok(Some(selected)) => Ok(selected),
        Ok(None) => Err(failure(Error::Truncated)),
        Err(error) => Err(failure(error)),
    }
}

pub(crate) fn failure(error: Error) -> io::Error {
    HandshakeError::Protocol { error, refusal: None }.into()
}

/// Reads a ClientHello for a passthrough route. See [`crate::read_client_hello`].
#[cfg(all(feature = "testing", debug_assertions))]
pub(crate) fn read_in_pieces(bytes: &[u8], piece: usize) -> Option<(Option<String>, usize)> {
    use crate::active_config::server_names::ServerNames;
    use std::sync::{Arc, LazyLock};

    static SELECTOR: LazyLock<Option<HelloSelector>> = LazyLock::new(|| {
        let builder = tercel::ServerConfig::builder().choose_config(tercel::Policy::Ask);
        let config = builder.without_tickets().build().ok()?;
        let mut names = ServerNames::default();
        names.set_default(0);
        Some(HelloSelector { config, names: Arc::new(names), routes: vec![RouteKind::Passthrough] })
    });
    let mut reader = HelloReader::new(SELECTOR.as_ref()?);
    let mut rest = bytes;
    while !rest.is_empty() && reader.room() > 0 {
        let (now, later) = rest
            .split_at_checked(piece.clamp(1, reader.room()))
            .unwrap_or_else(|| rest.split_at(rest.len().min(reader.room())));
        rest = later;
        match reader.push(now) {
            Ok(None) => {}
            Ok(Some(Selected::Passthrough(hello))) => {
                let length = hello.received.len();
                return bytes.starts_with(&hello.received).then_some((hello.server_name, length));
            }
            Ok(Some(Selected::Terminate(_))) | Err(_) => return None,
        }
    }
    None
}
