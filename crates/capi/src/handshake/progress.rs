//! The state of a handshake, with the open question.

use std::sync::Arc;

use tercel::pki::Refusal;
use tercel::{Answer, Connection as CoreConnection, Error, Next, Question, ReceiveBuffer, Sender};

use super::view::View;
use crate::config::codes::{Side, TERCEL_CLIENT};
use crate::entry::Result;
use crate::sessions::GivenSessions;
use crate::status::codes::{TERCEL_MISUSE_NO_EARLY_DATA, TERCEL_MISUSE_NO_SUCH_QUESTION};
use crate::status::{self, Status};

/// The state of a handshake.
pub struct Progress {
    pub(crate) handshake: tercel::Handshake,
    pub(super) side: Side,
    pub(super) begun: bool,
    /// Whether the caller of a server answers CLAIM_SESSION.
    pub(crate) claims: bool,
    /// A client's sessions, if its caller keeps them.
    pub(super) sessions: Option<Arc<GivenSessions>>,
    /// The open question, and its content once it was asked for.
    pub(crate) question: Option<Question>,
    pub(crate) view: Option<View>,
    /// The refusal by tercel_question_verify_chain.
    pub(crate) verdict: Option<Box<Refusal>>,
    pub(super) early_data: Vec<u8>,
    pub(super) connection: Option<Box<CoreConnection>>,
    pub(super) error: String,
}

impl Progress {
    pub(crate) fn new(
        handshake: tercel::Handshake,
        side: Side,
        sessions: Option<Arc<GivenSessions>>,
    ) -> Self {
        Self {
            handshake,
            side,
            begun: false,
            claims: false,
            sessions,
            question: None,
            view: None,
            verdict: None,
            early_data: Vec::new(),
            connection: None,
            error: String::new(),
        }
    }

    /// Remembers the text of an error, and returns its code. A failed handshake has no open
    /// question.
    pub(crate) fn fail(&mut self, error: Error) -> Status {
        if !matches!(error, Error::Misuse(_)) {
            self.question = None;
            self.view = None;
            self.verdict = None;
        }
        self.error = match self.handshake.refusal() {
            Some(refusal) if matches!(error, Error::Refused(_)) => refusal.to_string(),
            _ => error.to_string(),
        };
        status::of(error)
    }

    /// Continues the handshake. A caller that does not claim sessions has removed a session for
    /// single use already when it answered FIND_SESSION.
    pub(super) fn advance(
        &mut self,
        input: &mut ReceiveBuffer,
        output: &mut Vec<u8>,
    ) -> core::result::Result<Next, Error> {
        loop {
            match self.handshake.advance(input, output)? {
                Next::Answer(Question::ClaimSession(question)) if !self.claims => {
                    self.handshake.answer(question.answer(true))?;
                }
                next => return Ok(next),
            }
        }
    }

    /// The sender of data before the end of the handshake.
    pub(crate) fn early_sender(&mut self) -> Result<&mut Sender> {
        let sender = if self.side == TERCEL_CLIENT {
            self.handshake.early_sender()
        } else {
            self.handshake.half_rtt_sender()
        };
        sender.ok_or(TERCEL_MISUSE_NO_EARLY_DATA)
    }

    pub(crate) fn question(&self) -> Result<&Question> {
        self.question.as_ref().ok_or(TERCEL_MISUSE_NO_SUCH_QUESTION)
    }

    /// The content of the open question.
    pub(crate) fn view(&mut self) -> Result<&View> {
        let question = self.question.as_ref().ok_or(TERCEL_MISUSE_NO_SUCH_QUESTION)?;
        Ok(self.view.get_or_insert_with(|| View::new(question)))
    }

    /// Answers the open question if `make` has an answer to its kind.
    pub(crate) fn answer(&mut self, make: impl FnOnce(&Question) -> Option<Answer>) -> Result<()> {
        let answer = make(self.question()?).ok_or(TERCEL_MISUSE_NO_SUCH_QUESTION)?;
        self.handshake.answer(answer).map_err(status::of)?;
        self.question = None;
        self.view = None;
        self.verdict = None;
        Ok(())
    }
}
