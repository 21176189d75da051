//! The CRYPTO data of a handshake over QUIC: received bytes, and events for the transport.
//! RFC 9001 4.1.3, 4.1.4
//!
//! The coroutine owns this value while it runs, like `records.rs`. There is one buffer for received
//! bytes, because a level ends only if all of its bytes are consumed. RFC 9001 4.1.3

use std::collections::VecDeque;
use std::sync::Arc;

use super::command::Command;
use super::established::Established;
use crate::connection::info::ConnectionInfo;
#[cfg(feature = "ech")]
use crate::ech::Offer;
use crate::error::{Error, InternalError, PeerError};
use crate::keys::direction::{Keys as RecordKeys, NewKeys};
use crate::keys::quic::update::KeyUpdates;
use crate::keys::quic::{DirectionKeys, Keys, Version};
use crate::keys::tls13::TrafficSecret;
use crate::record::joiner::{Joiner, Message};
use crate::record::limits;

/// The encryption level of CRYPTO data. RFC 9001 4.1.4
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 1-RTT packets.
    Application,
}

impl Level {
    fn next(self) -> Self {
        match self {
            Self::Initial => Self::Handshake,
            Self::Handshake | Self::Application => Self::Application,
        }
    }
}

/// An event for the transport.
pub(crate) enum Event {
    Send(Level, Vec<u8>),
    EarlyKeys(Box<DirectionKeys>),
    EarlyDataRejected,
    HandshakeKeys(Box<Keys>),
    ApplicationKeys(Box<Keys>, KeyUpdates),
}

/// The messages and keys of a handshake over QUIC.
pub(crate) struct Levels {
    version: Version,
    /// The transport parameters of this side.
    pub(crate) parameters: Arc<[u8]>,
    /// The transport parameters of the peer. On a client that offers early data, they are those of
    /// the session until the server's arrive. RFC 9001 4.5
    pub(crate) peer_parameters: Option<Vec<u8>>,
    pub(crate) read_level: Level,
    write_level: Level,
    /// The highest level whose keys the transport has.
    given_level: Level,
    /// The received bytes of `read_level` that are not returned as messages yet.
    joiner: Joiner,
    /// The messages of the flight at `write_level`.
    flight: Vec<u8>,
    events: VecDeque<Event>,
    /// A secret whose counterpart is not known yet: the keys of both directions are derived
    /// together. It is boxed, because taking it would leave a copy in this struct's memory.
    read_secret: Option<Box<TrafficSecret>>,
    write_secret: Option<Box<TrafficSecret>>,
    /// Client: the offer of Encrypted ClientHello, until the handshake starts.
    #[cfg(feature = "ech")]
    pub(crate) ech_offer: Option<Box<Offer>>,
    /// Server: the negotiated parameters, before the client's Finished.
    pub(crate) early_info: Option<Box<ConnectionInfo>>,
    /// The result of the handshake.
    pub(crate) established: Option<Established>,
}

impl Levels {
    pub(crate) fn new(version: Version, parameters: Vec<u8>) -> Self {
        Self {
            version,
            parameters: parameters.into(),
            peer_parameters: None,
            read_level: Level::Initial,
            write_level: Level::Initial,
            given_level: Level::Initial,
            joiner: Joiner::default(),
            flight: Vec::new(),
            events: VecDeque::new(),
            read_secret: None,
            write_secret: None,
            #[cfg(feature = "ech")]
            ech_offer: None,
            early_info: None,
            established: None,
        }
    }

    /// Adds received bytes, which follow those received before at this level. Before the transport
    /// has the keys of a level, no data of that level can have arrived. RFC 9001 4.1.3
    pub(crate) fn receive(&mut self, level: Level, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        if level != self.read_level || level > self.given_level {
            return Err(PeerError::WrongEncryptionLevel.into());
        }
        if self.joiner.waiting().len().saturating_add(bytes.len()) > limits::MAX_CRYPTO_DATA {
            return Err(PeerError::TooMuchCryptoData.into());
        }
        self.joiner.push(bytes);
        Ok(())
    }

    /// Returns the next complete message.
    pub(crate) fn next_message(&mut self) -> Result<Option<Message>, Error> {
        self.joiner.next()
    }

    /// Returns the next event. The messages of a flight are sent before later events.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        match event {
            Event::HandshakeKeys(_) => self.given_level = Level::Handshake,
            Event::ApplicationKeys(..) => self.given_level = Level::Application,
            Event::Send(..) | Event::EarlyKeys(_) | Event::EarlyDataRejected => {}
        }
        Some(event)
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the received bytes that belong to the time after the handshake.
    pub(crate) fn take_joiner(&mut self) -> Joiner {
        core::mem::take(&mut self.joiner)
    }

    /// Returns the buffer that collects the messages of a flight.
    pub(super) fn flight(&mut self) -> &mut Vec<u8> {
        if self.flight.capacity() == 0 {
            self.flight.reserve(FLIGHT);
        }
        &mut self.flight
    }

    /// Ends the flight. The peer must not have sent a part of its next flight already.
    pub(crate) fn send_flight(&mut self) -> Result<(), Error> {
        if self.flight.is_empty() {
            return Ok(());
        }
        if self.read_level == self.write_level && !self.joiner.is_empty() {
            return Err(PeerError::ExcessHandshakeData.into());
        }
        let flight = core::mem::take(&mut self.flight);
        self.events.push_back(Event::Send(self.write_level, flight));
        Ok(())
    }

    pub(super) fn send(&mut self, messages: &[u8]) -> Result<(), Error> {
        self.send_flight()?;
        self.flight = messages.to_vec();
        self.send_flight()
    }

    /// Carries out a command, after the messages before it. Commands for records do nothing.
    pub(crate) fn execute(&mut self, command: Command) -> Result<(), Error> {
        self.send_flight()?;
        match command {
            Command::InstallWrite(keys) => {
                self.write_level = self.write_level.next();
                self.write_secret = Some(secret_of(keys)?);
                self.add_keys()
            }
            Command::InstallRead(keys) => {
                // RFC 9001 4.1.3
                if !self.joiner.is_empty() {
                    return Err(PeerError::ExcessHandshakeData.into());
                }
                self.read_level = self.read_level.next();
                // On a server, the transport has the keys since `ReadKeysInAdvance`.
                if self.write_level < self.read_level || self.write_secret.is_some() {
                    self.read_secret = Some(secret_of(keys)?);
                    self.add_keys()?;
                }
                Ok(())
            }
            Command::ReadKeysInAdvance(secret) => {
                self.read_secret = Some(Box::new(secret));
                self.add_keys()
            }
            Command::ReadEarlyData { secret, info, .. } => {
                self.early_info = Some(info);
                self.add_early_keys(&secret)
            }
            Command::WriteEarlyData { secret, .. } => self.add_early_keys(&secret),
            Command::AbandonEarlyData => {
                self.events.push_back(Event::EarlyDataRejected);
                Ok(())
            }
            // A change_cipher_spec belongs to a session ID, which QUIC does not have.
            // RFC 9001 8.4
            Command::SendChangeCipherSpec => Err(InternalError::Internal.into()),
            Command::Negotiated(_)
            | Command::RecordLimits(_)
            | Command::HalfRtt
            | Command::SkipEarlyData { .. }
            | Command::StopSkippingEarlyData
            | Command::Padding(_) => Ok(()),
        }
    }

    /// Derives the keys of a level, once the secrets of both directions are known.
    fn add_keys(&mut self) -> Result<(), Error> {
        if self.read_secret.is_none() || self.write_secret.is_none() {
            return Ok(());
        }
        let (Some(read), Some(write)) = (self.read_secret.take(), self.write_secret.take()) else {
            return Ok(());
        };
        let keys = Box::new(Keys::derive(self.version, &write, &read)?);
        self.events.push_back(match self.write_level {
            Level::Initial | Level::Handshake => Event::HandshakeKeys(keys),
            Level::Application => {
                Event::ApplicationKeys(keys, KeyUpdates::new(self.version, write, read))
            }
        });
        Ok(())
    }

    fn add_early_keys(&mut self, secret: &TrafficSecret) -> Result<(), Error> {
        let keys = DirectionKeys::derive(self.version, secret)?;
        self.events.push_back(Event::EarlyKeys(Box::new(keys)));
        Ok(())
    }
}

/// The number of bytes that flights without certificates need.
const FLIGHT: usize = 512;

/// Returns the secret of these keys. Over QUIC, all keys are secrets, so the error is unreachable.
fn secret_of(keys: NewKeys) -> Result<Box<TrafficSecret>, Error> {
    match keys.into_keys() {
        RecordKeys::Tls13(secret) => Ok(Box::new(secret)),
        _ => Err(InternalError::Internal.into()),
    }
}
