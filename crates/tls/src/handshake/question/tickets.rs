//! Questions about the tickets of a server. RFC 9846 4.7.1, RFC 5077

use pki_types::UnixTime;
use tercel_wire::ProtocolVersion;
use zeroize::Zeroizing;

use super::{Answer, AnswerValue};
use crate::resumption::tickets::TicketSealer;

/// Asks to open a ticket that a client sends. See
/// [`Question::OpenTicket`](crate::Question::OpenTicket).
///
/// A client that does not have the session's key can send the ticket, too, so the answer must not
/// invalidate the ticket. A ClientHello causes at most four of these questions.
///
/// ```
/// # use tercel::{Error, Handshake, questions::OpenTicketQuestion};
/// # fn run(handshake: &mut Handshake, question: OpenTicketQuestion,
/// #     module: impl Fn(&[u8]) -> Option<(Vec<u8>, bool)>) -> Result<(), Error> {
/// handshake.answer(match module(question.ticket()) {
///     Some((session, is_under_old_key)) if is_under_old_key => question.answer_and_renew(session),
///     opened => question.answer(opened.map(|(session, _)| session)),
/// })?;
/// # Ok(()) }
/// ```
pub struct OpenTicketQuestion {
    pub(crate) ticket: Vec<u8>,
    pub(crate) version: ProtocolVersion,
    pub(crate) now: UnixTime,
}

impl OpenTicketQuestion {
    /// Returns the ticket. Its bytes are not authenticated.
    #[must_use]
    pub fn ticket(&self) -> &[u8] {
        &self.ticket
    }

    /// Returns the version that was negotiated. A session of another version is not resumed.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns the time, by the configuration's clock, at which the question was asked.
    #[must_use]
    pub fn now(&self) -> UnixTime {
        self.now
    }

    /// The answer: a session, whose client gets a new ticket in TLS 1.2, such as one under a newer
    /// key. TLS 1.3 issues new tickets in any case. RFC 5077 3.3
    #[must_use]
    pub fn answer_and_renew(&self, session: Vec<u8>) -> Answer {
        Answer(AnswerValue::OpenedAndRenewed(Zeroizing::new(session)))
    }

    /// Answers with the session that `sealer` finds in the ticket.
    #[must_use]
    pub fn resolve(&self, sealer: &dyn TicketSealer) -> Answer {
        match sealer.open(&self.ticket, self.now) {
            Some(session) if sealer.needs_renewal(&self.ticket, self.now) => {
                self.answer_and_renew(session)
            }
            opened => self.answer(opened),
        }
    }
}

/// Asks to seal a session in a ticket. See [`Question::SealTicket`](crate::Question::SealTicket).
///
/// A handshake of TLS 1.3 asks at most ten of these questions, one after the other: as many as the
/// client requests, or as [`ticket_counts`](crate::server::ServerConfigBuilder::ticket_counts)
/// says. A handshake of TLS 1.2 asks at most one.
///
/// ```
/// # use tercel::{Error, Handshake, questions::SealTicketQuestion};
/// # fn run(handshake: &mut Handshake, question: SealTicketQuestion,
/// #     module: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<(), Error> {
/// handshake.answer(question.answer(module(question.session())))?;
/// # Ok(()) }
/// ```
pub struct SealTicketQuestion {
    pub(crate) session: Zeroizing<Vec<u8>>,
    pub(crate) version: ProtocolVersion,
    pub(crate) expires: UnixTime,
    pub(crate) now: UnixTime,
}

impl SealTicketQuestion {
    /// Returns the session. It contains keys, so the ticket has to be encrypted and authenticated.
    #[must_use]
    pub fn session(&self) -> &[u8] {
        &self.session
    }

    /// Returns the version of the session.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns the time at which the session expires. Afterwards the ticket need not be opened.
    #[must_use]
    pub fn expires(&self) -> UnixTime {
        self.expires
    }

    /// Returns the time, by the configuration's clock, at which the question was asked.
    #[must_use]
    pub fn now(&self) -> UnixTime {
        self.now
    }

    /// Answers with the ticket that `sealer` makes.
    #[must_use]
    pub fn resolve(&self, sealer: &dyn TicketSealer) -> Answer {
        self.answer(sealer.seal(&self.session, self.now))
    }
}
