//! The mailbox of a coroutine and its driver.

use std::sync::Arc;

use tercel_pki::Refusal;

use super::command::{Command, Wanted};
use super::established::Established;
#[cfg(feature = "quic")]
use super::levels::Levels;
use super::records::Records;
use crate::connection::Connection;
#[cfg(feature = "ech")]
use crate::ech::ConfigList;
use crate::error::Error;
use crate::handshake::question::{AnswerValue, Question};
use crate::record::joiner::Message;
use crate::resumption::session::invalidation::StoredSession;

#[cfg(any(test, feature = "quic"))]
use crate::error::Misuse;

/// The values that a coroutine and its driver exchange. Whichever of the two is running owns the
/// mailbox.
pub(crate) struct Mailbox {
    /// The input that the coroutine waits for. `None` while it does not wait.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) message: Option<Message>,
    pub(crate) change_cipher_spec: bool,
    /// Server: whether the driver's caller does not read early data.
    pub(crate) rejects_early_data: bool,
    /// The question is boxed, because it is large and most handshakes ask no question.
    pub(crate) question: Option<Box<Question>>,
    pub(crate) answer: Option<AnswerValue>,
    pub(crate) transport: Transport,
    /// The connection, once the handshake is complete.
    pub(crate) connection: Option<Box<Connection>>,
    /// The details of a failure, which the handshake takes.
    pub(crate) failure: Option<Box<FailureDetails>>,
}

/// The details of an error that do not fit in [`Error`].
pub(crate) enum FailureDetails {
    /// For [`crate::Handshake::refusal`].
    Refusal(Box<Refusal>),
    /// For [`crate::Handshake::ech_retry_configs`].
    #[cfg(feature = "ech")]
    EchRetryConfigs(ConfigList),
    /// For [`crate::Handshake::session_to_forget`].
    SessionToForget(Arc<StoredSession>),
}

impl FailureDetails {
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refusal(refusal) => Some(refusal),
            #[cfg(feature = "ech")]
            Self::EchRetryConfigs(_) => None,
            Self::SessionToForget(_) => None,
        }
    }

    pub(crate) fn session_to_forget(&self) -> Option<&[u8; 32]> {
        match self {
            Self::SessionToForget(session) => session.id(),
            Self::Refusal(_) => None,
            #[cfg(feature = "ech")]
            Self::EchRetryConfigs(_) => None,
        }
    }

    #[cfg(feature = "ech")]
    pub(crate) fn ech_retry_configs(&self) -> Option<&ConfigList> {
        match self {
            Self::Refusal(_) | Self::SessionToForget(_) => None,
            Self::EchRetryConfigs(configs) => Some(configs),
        }
    }
}

/// The transport of a coroutine's messages and commands.
#[cfg_attr(
    any(test, feature = "quic"),
    allow(clippy::large_enum_variant, reason = "records are not boxed a second time")
)]
pub(crate) enum Transport {
    /// Records, which are written immediately.
    Records(Records),
    /// CRYPTO data of QUIC.
    #[cfg(feature = "quic")]
    Quic(Box<Levels>),
    /// A list of messages and commands, which a test can change.
    #[cfg(test)]
    Recorded(RecordedOutput),
}

/// Commands, each with the messages sent before it, followed by the messages after the last
/// command.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct RecordedOutput {
    pub(crate) commands: Vec<(Vec<u8>, Command)>,
    pub(crate) flight: Vec<u8>,
}

impl Mailbox {
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            wanted: None,
            message: None,
            change_cipher_spec: false,
            rejects_early_data: false,
            question: None,
            answer: None,
            transport,
            connection: None,
            failure: None,
        }
    }
}

impl Transport {
    /// Returns the record layer. A driver's transport always has it; the error occurs only in
    /// tests.
    pub(crate) fn records(&mut self) -> Result<&mut Records, Error> {
        match self {
            Self::Records(records) => Ok(records),
            #[cfg(feature = "quic")]
            Self::Quic(_) => Err(Misuse::HandshakeEnded.into()),
            #[cfg(test)]
            Self::Recorded(_) => Err(Misuse::HandshakeEnded.into()),
        }
    }

    /// Returns the CRYPTO data of QUIC, which the transport of [`crate::quic::Handshake`] has.
    #[cfg(feature = "quic")]
    pub(crate) fn levels(&mut self) -> Result<&mut Levels, Error> {
        let Self::Quic(levels) = self else { return Err(Misuse::HandshakeEnded.into()) };
        Ok(levels)
    }

    #[cfg(feature = "quic")]
    pub(crate) fn seen_levels(&self) -> Option<&Levels> {
        let Self::Quic(levels) = self else { return None };
        Some(levels)
    }

    /// Returns the buffer that collects the messages of a flight. It may contain earlier bytes.
    pub(super) fn flight(&mut self) -> Result<&mut Vec<u8>, Error> {
        match self {
            Self::Records(records) => records.flight(),
            #[cfg(feature = "quic")]
            Self::Quic(levels) => Ok(levels.flight()),
            #[cfg(test)]
            Self::Recorded(output) => Ok(&mut output.flight),
        }
    }

    /// Shows the tap the message at this position of the flight, which ends there.
    #[inline(always)]
    pub(super) fn tap_flight(&self, start: usize) {
        // Over QUIC there is no tap.
        match self {
            Self::Records(records) => records.tap_flight(start),
            #[cfg(feature = "quic")]
            Self::Quic(_) => {}
            #[cfg(test)]
            Self::Recorded(_) => {}
        }
    }

    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        match self {
            Self::Records(records) => records.send(message),
            #[cfg(feature = "quic")]
            Self::Quic(levels) => levels.send(message),
            #[cfg(test)]
            Self::Recorded(output) => {
                output.flight.extend_from_slice(message);
                Ok(())
            }
        }
    }

    pub(super) fn connect(
        &mut self,
        established: Established,
    ) -> Result<Option<Connection>, Error> {
        match self {
            Self::Records(records) => records.connect(established).map(Some),
            #[cfg(feature = "quic")]
            Self::Quic(levels) => {
                levels.established = Some(established);
                Ok(None)
            }
            #[cfg(test)]
            Self::Recorded(_) => Ok(None),
        }
    }

    pub(super) fn invalidate_on_alert(&mut self, session: Arc<StoredSession>) -> Result<(), Error> {
        match self {
            Self::Records(records) => records.invalidate_on_alert(session),
            // Only sessions of TLS 1.2 are invalidated.
            #[cfg(feature = "quic")]
            Self::Quic(_) => Ok(()),
            #[cfg(test)]
            Self::Recorded(_) => Ok(()),
        }
    }

    pub(super) fn execute(&mut self, command: Command) -> Result<(), Error> {
        match self {
            Self::Records(records) => records.execute(command),
            #[cfg(feature = "quic")]
            Self::Quic(levels) => levels.execute(command),
            #[cfg(test)]
            Self::Recorded(output) => {
                output.commands.push((core::mem::take(&mut output.flight), command));
                Ok(())
            }
        }
    }
}
