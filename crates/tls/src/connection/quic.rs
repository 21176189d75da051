//! Established connections over QUIC: the results of the handshake, and the messages after it.
//! RFC 9001 4.4, 4.6, 6

use core::fmt;

use tercel_wire::{HandshakeMessage, HandshakeType, NewSessionTicket};

use super::export::Exporter;
use super::info::ConnectionInfo;
use super::tickets::NewSessions;
use crate::error::{Error, PeerError};
use crate::record::joiner::{Joiner, Message};
use crate::record::limits;
use crate::resumption::session::new_client_session::NewClientSession;
use crate::side::Side;

/// The results of a handshake over QUIC, except for the keys.
#[derive(Debug)]
#[non_exhaustive]
pub struct Connection {
    /// The negotiated parameters.
    pub info: ConnectionInfo,
    /// The exporter of keying material. RFC 9846 7.5
    pub exporter: Exporter,
    /// The early exporter, if early data was accepted. RFC 9846 7.5
    pub early_exporter: Option<Box<Exporter>>,
    /// The transport parameters of the peer. RFC 9001 8.2
    pub peer_parameters: Vec<u8>,
    /// The receiver of CRYPTO data in 1-RTT packets.
    pub incoming: Incoming,
}

/// The receiver of CRYPTO data after the handshake: on a client, tickets.
pub struct Incoming {
    side: Side,
    joiner: Joiner,
    /// Client: the sessions that tickets make, unless the client resumes no sessions.
    sessions: Option<Box<NewSessions>>,
    ended: Option<Ended>,
}

impl Incoming {
    pub(crate) fn new(side: Side, joiner: Joiner, sessions: Option<Box<NewSessions>>) -> Self {
        Self { side, joiner, sessions, ended: None }
    }

    /// Processes the CRYPTO data of 1-RTT packets, which has to follow the data received before.
    ///
    /// # Errors
    /// If the peer violates the protocol. The connection has to be closed with
    /// [`Ended::code`]. All later calls return the same error.
    pub fn receive(&mut self, data: &[u8]) -> Result<(), Ended> {
        if let Some(ended) = self.ended {
            return Err(ended);
        }
        self.process(data).map_err(|error| {
            let ended = Ended::new(error);
            self.ended = Some(ended);
            NewSessions::stop(&mut self.sessions);
            ended
        })
    }

    /// Client: whether tickets were received, and none of them is incomplete. Servers usually send
    /// their tickets together, so a transport may call [`Self::ignore_tickets`] then.
    #[must_use]
    pub fn has_received_tickets(&self) -> bool {
        self.joiner.is_empty()
            && self.sessions.as_deref().is_some_and(NewSessions::has_received_ticket)
    }

    /// Client: frees the memory for storing tickets, and the secret from which their keys are
    /// derived. Later tickets are checked, but not stored.
    pub fn ignore_tickets(&mut self) {
        NewSessions::stop(&mut self.sessions);
    }

    /// Client: takes the sessions of the tickets that were received, if the configuration
    /// [returns new sessions](crate::client::ClientConfigBuilder::return_new_sessions).
    #[must_use]
    pub fn take_new_sessions(&mut self) -> Vec<NewClientSession> {
        NewSessions::take(&mut self.sessions)
    }

    /// Processes the messages that are complete with this data.
    pub(crate) fn process(&mut self, data: &[u8]) -> Result<(), Error> {
        let waiting = self.joiner.waiting().len();
        if waiting.saturating_add(data.len()) > limits::MAX_CRYPTO_DATA {
            return Err(PeerError::TooMuchCryptoData.into());
        }
        if !data.is_empty() {
            self.joiner.push(data);
        }
        while let Some(message) = self.joiner.next()? {
            self.message(&message)?;
        }
        // A message that is not allowed is refused before the rest of it is received.
        match self.joiner.waiting().first() {
            Some(kind) => self.check(HandshakeType(*kind)),
            None => Ok(()),
        }
    }

    fn message(&mut self, message: &Message) -> Result<(), Error> {
        self.check(message.kind())?;
        // Tickets are parsed even if they are not stored: a malformed one is an error.
        // RFC 9846 4.7.1
        let ticket = NewSessionTicket::parse(message.body())?;
        if ticket.ticket_lifetime > limits::MAX_TICKET_LIFETIME {
            return Err(PeerError::BadTicketLifetime.into());
        }
        // The transport limits early data, so the limit has one value. RFC 9001 4.6.1
        if ticket.extensions.early_data.is_some_and(|limit| limit != u32::MAX) {
            return Err(PeerError::BadMaxEarlyData.into());
        }
        if let Some(sessions) = &mut self.sessions {
            sessions.receive(&ticket);
            if sessions.is_done() {
                NewSessions::stop(&mut self.sessions);
            }
        }
        Ok(())
    }

    /// Checks that messages of this type are allowed.
    fn check(&self, kind: HandshakeType) -> Result<(), Error> {
        match (kind, self.side) {
            (HandshakeType::NEW_SESSION_TICKET, Side::Client) => Ok(()),
            // RFC 9001 4.4
            (HandshakeType::CERTIFICATE_REQUEST, Side::Client) => {
                Err(PeerError::PostHandshakeRequestOverQuic.into())
            }
            // This includes a KeyUpdate: QUIC has its own key update. RFC 9001 6
            _ => Err(PeerError::UnexpectedMessage.into()),
        }
    }
}

debug_fields!(Incoming: side, ended);

/// The error that ends a connection over QUIC, and the code with which the transport closes the
/// connection. QUIC sends no alerts. RFC 9001 4.8
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The error code of a CONNECTION_CLOSE frame of type 0x1c: 0x0100 plus the alert, or the code
    /// of a transport error. RFC 9000 20.1
    pub code: u64,
    /// The reason.
    pub error: Error,
}

impl Ended {
    pub(crate) fn new(error: Error) -> Self {
        Self { code: code(error), error }
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Ended {}

/// Returns the code of an error. RFC 9001 4.8, RFC 9000 20.1
fn code(error: Error) -> u64 {
    match error {
        // RFC 9001 4.1.3, 8.4, 4.4, 4.6.1
        Error::Peer(
            PeerError::ExcessHandshakeData
            | PeerError::WrongEncryptionLevel
            | PeerError::SessionIdOverQuic
            | PeerError::PostHandshakeRequestOverQuic
            | PeerError::BadMaxEarlyData,
        ) => PROTOCOL_VIOLATION,
        Error::Peer(PeerError::TooMuchCryptoData) => CRYPTO_BUFFER_EXCEEDED,
        // An alert of level warning is not possible, so each alert ends the connection.
        error => match error.alert() {
            Some(alert) => CRYPTO_ERROR.saturating_add(u64::from(alert.0)),
            None => INTERNAL_ERROR,
        },
    }
}

// RFC 9000 20.1
const INTERNAL_ERROR: u64 = 0x01;
const PROTOCOL_VIOLATION: u64 = 0x0a;
const CRYPTO_BUFFER_EXCEEDED: u64 = 0x0d;
const CRYPTO_ERROR: u64 = 0x0100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{InternalError, Misuse};

    /// RFC 9001 4.8, RFC 9000 20.1
    #[test]
    fn codes_are_those_of_the_transport_or_of_the_alert() {
        let of = |error: Error| Ended::new(error).code;
        assert_eq!(of(PeerError::UnsupportedVersion.into()), 0x0146);
        assert_eq!(of(PeerError::UnexpectedMessage.into()), 0x010a);
        assert_eq!(of(PeerError::MissingExtension.into()), 0x016d);
        assert_eq!(of(PeerError::NoApplicationProtocol.into()), 0x0178);
        assert_eq!(of(PeerError::ExcessHandshakeData.into()), 0x0a);
        assert_eq!(of(PeerError::TooMuchCryptoData.into()), 0x0d);
        assert_eq!(of(InternalError::SigningFailed.into()), 0x0150);
        assert_eq!(of(Misuse::HandshakeEnded.into()), 0x01);
    }
}
