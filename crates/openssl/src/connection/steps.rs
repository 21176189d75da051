//! The questions of a handshake: each is answered by the program's functions and objects, between
//! two steps.

use core::ffi::{c_int, c_uchar, c_uint};
use core::ptr;

use std::sync::Arc;

use tercel::questions::{
    ChooseConfigQuestion, FindClientSessionQuestion, SelectCredentialQuestion,
};
use tercel::session::ClientSession;
use tercel::wire::AlertDescription;
use tercel::{Answer, Question};

use super::alerts::{FATAL, INTERNAL_ERROR, NO_APPLICATION_PROTOCOL};
use super::hello::Hello;
use super::state::{Side, Stage, Want};
use super::{Ssl, alerts};
use crate::errors::{self, reasons};

/// Why a question is not answered.
pub(crate) enum Unanswered {
    /// A callback wants to be called again; `want` says which. The question remains.
    Later,
    /// The handshake ends with this alert; an error is in the queue.
    Alert(u8),
}

const TLSEXT_ERR_OK: c_int = 0;
const TLSEXT_ERR_ALERT_WARNING: c_int = 1;
const TLSEXT_ERR_ALERT_FATAL: c_int = 2;
const TLSEXT_ERR_NOACK: c_int = 3;

const CLIENT_HELLO_RETRY: c_int = -1;
const CLIENT_HELLO_SUCCESS: c_int = 1;
const UNRECOGNIZED_NAME: u8 = 112;

impl Ssl {
    /// Answers a question. No cell is borrowed while a function of the program runs.
    pub(crate) fn answer(&self, question: &Question) -> Result<Answer, Unanswered> {
        match question {
            Question::ChooseConfig(question) => self.answer_choose(question),
            Question::FindClientSession(question) => Ok(self.answer_session(question)),
            Question::VerifyPeer(question) => self.answer_verify(question),
            Question::AdmitAnonymous(question) => Ok(question.answer(!self.demands_certificate())),
            Question::Sign(question) => Ok(self.answer_sign(question)),
            Question::AdmitEarlyData(question) => Ok(self.answer_admission(question)),
            Question::FindSession(question) => Ok(self.answer_find_session(question)),
            Question::ClaimSession(question) => Ok(self.answer_claim_session(question)),
            Question::OpenTicket(question) => Ok(self.answer_open_ticket(question)),
            Question::SealTicket(question) => Ok(self.answer_seal_ticket(question)),
            Question::SelectCredential(question) if self.side.get() == Some(Side::Server) => {
                self.answer_stapled(question)
            }
            Question::SelectCredential(question) => self.answer_select(question),
            // No other question is configured.
            _ => {
                errors::push_internal();
                Err(Unanswered::Alert(INTERNAL_ERROR))
            }
        }
    }

    /// Calls the program's functions for a ClientHello, in OpenSSL's order.
    fn answer_choose(&self, question: &ChooseConfigQuestion) -> Result<Answer, Unanswered> {
        if self.hello.borrow().is_none() {
            let hello = Hello::of(question);
            self.host_name.replace(hello.server_name.clone());
            self.hello.replace(Some(hello));
        }
        // A callback that succeeded is not called again if a later one asks to be repeated.
        self.once(1, Self::call_client_hello)?;
        self.once(2, Self::call_server_name)?;
        self.call_certificate_callback()?;
        let protocol = self.select_protocol()?;
        let config = self.server_configuration(protocol.as_deref());
        let config = config.ok_or(Unanswered::Alert(INTERNAL_ERROR))?;
        Ok(question.answer(Some(config)))
    }

    /// Calls a function that takes this place among those for a ClientHello, unless it succeeded.
    fn once(
        &self,
        place: u8,
        call: impl FnOnce(&Self) -> Result<(), Unanswered>,
    ) -> Result<(), Unanswered> {
        let passed = |hello: &Hello| hello.passed.get() >= place;
        if self.hello.borrow().as_ref().is_some_and(passed) {
            return Ok(());
        }
        call(self)?;
        if let Some(hello) = &*self.hello.borrow() {
            hello.passed.set(place);
        }
        Ok(())
    }

    fn call_client_hello(&self) -> Result<(), Unanswered> {
        let callback = self.context().settings().callbacks.client_hello;
        let Some(function) = callback.function else { return Ok(()) };
        let mut alert = c_int::from(INTERNAL_ERROR);
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        let call = || unsafe { function(self.address(), &raw mut alert, callback.argument) };
        match self.outside(call) {
            CLIENT_HELLO_SUCCESS => Ok(()),
            CLIENT_HELLO_RETRY => {
                self.want.set(Want::ClientHello);
                Err(Unanswered::Later)
            }
            _ => {
                errors::push(reasons::CALLBACK_FAILED);
                Err(Unanswered::Alert(u8::try_from(alert).unwrap_or(INTERNAL_ERROR)))
            }
        }
    }

    fn call_server_name(&self) -> Result<(), Unanswered> {
        let mut callback = self.context().settings().callbacks.server_name;
        if callback.function.is_none() {
            callback = self.session_context.settings().callbacks.server_name;
        }
        let Some(function) = callback.function else { return Ok(()) };
        let mut alert = c_int::from(UNRECOGNIZED_NAME);
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        let call = || unsafe { function(self.address(), &raw mut alert, callback.argument) };
        let result = self.outside(call);
        match result {
            TLSEXT_ERR_ALERT_FATAL => {
                errors::push(reasons::CALLBACK_FAILED);
                Err(Unanswered::Alert(u8::try_from(alert).unwrap_or(UNRECOGNIZED_NAME)))
            }
            TLSEXT_ERR_ALERT_WARNING | TLSEXT_ERR_OK => Ok(()),
            // The program does not use the name.
            _ => Ok(()),
        }
    }

    /// Whether the program may staple a certificate status for this client.
    pub(crate) fn may_staple(&self) -> bool {
        let wanted = self.hello.borrow().as_ref().is_some_and(|hello| hello.wants_status);
        wanted && self.context().settings().callbacks.status.function.is_some()
    }

    /// Calls the program's function that sets the certificate status. It can end the handshake.
    fn call_status(&self) -> Result<(), Unanswered> {
        let callback = self.context().settings().callbacks.status;
        let Some(function) = callback.function else { return Ok(()) };
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        let result = self.outside(|| unsafe { function(self.address(), callback.argument) });
        match result {
            TLSEXT_ERR_OK => Ok(()),
            TLSEXT_ERR_NOACK => {
                self.status_response.replace(None);
                Ok(())
            }
            _ => {
                errors::push(reasons::CLIENTHELLO_TLSEXT);
                Err(Unanswered::Alert(INTERNAL_ERROR))
            }
        }
    }

    /// Selects the certificate of a server, which may get a status.
    fn answer_stapled(&self, question: &SelectCredentialQuestion) -> Result<Answer, Unanswered> {
        let request = question.request();
        let settings = self.settings();
        let own = self.own_credentials(&settings);
        let fitting = own.iter().find(|(_, each)| request.scheme_for(each).is_some());
        let Some((index, credential)) = fitting else { return Ok(question.answer(None)) };
        // The program asks for the certificate that is used.
        self.selected.set(Some(*index));
        self.call_status()?;
        let staple = self.status_response.borrow().clone();
        Ok(question.answer(Some(match staple {
            Some(staple) => Arc::new(credential.with_ocsp_response(staple)),
            None => Arc::clone(credential),
        })))
    }

    /// The protocol that the program selects; `None` for none.
    fn select_protocol(&self) -> Result<Option<Vec<u8>>, Unanswered> {
        let callback = self.context().settings().callbacks.select_protocol;
        let offered = self.hello.borrow().as_ref().and_then(|hello| hello.protocols.clone());
        let (Some(function), Some(offered)) = (callback.function, offered) else { return Ok(None) };
        let (mut start, mut length): (*const c_uchar, c_uchar) = (ptr::null(), 0);
        let offered_length = c_uint::try_from(offered.len()).unwrap_or(0);
        // SAFETY: the program set this function for these arguments. It sets `start` and `length`
        // to a protocol in `offered` or in memory of its own. No cell is borrowed.
        unsafe {
            let (start_to, length_to) = (&raw mut start, &raw mut length);
            let result = self.outside(|| {
                let (from, argument) = (offered.as_ptr(), callback.argument);
                function(self.address(), start_to, length_to, from, offered_length, argument)
            });
            match result {
                TLSEXT_ERR_OK if !start.is_null() && length > 0 => {
                    let selected = core::slice::from_raw_parts(start, usize::from(length));
                    Ok(Some(selected.to_vec()))
                }
                // As with OpenSSL, each other result refuses, and a missing name is an error.
                TLSEXT_ERR_NOACK => Ok(None),
                TLSEXT_ERR_OK => {
                    errors::push_internal();
                    Err(Unanswered::Alert(INTERNAL_ERROR))
                }
                _ => {
                    errors::push(reasons::NO_APPLICATION_PROTOCOL);
                    Err(Unanswered::Alert(NO_APPLICATION_PROTOCOL))
                }
            }
        }
    }

    /// The session that the program set for a client.
    fn answer_session(&self, question: &FindClientSessionQuestion) -> Answer {
        let session = self.session.borrow().clone();
        let core = session.map(|session| session.fields().core.clone());
        question.answer(core.and_then(|core| ClientSession::from_bytes(&core)))
    }

    /// Ends the handshake, whose messages are sent.
    pub(crate) fn abort(&self, alert: u8) {
        let mut record = Vec::new();
        self.with_handshake(|handshake| handshake.abort(AlertDescription(alert), &mut record));
        self.abort_with(alert, &record);
    }

    /// Ends the handshake without its last messages: the peer knows no key that they would change.
    pub(crate) fn abort_unsent(&self, alert: u8) {
        self.unsent.take();
        self.abort_with(alert, &[21, 3, 3, 0, 2, FATAL, alert]);
    }

    fn abort_with(&self, alert: u8, record: &[u8]) {
        self.stage.replace(Stage::Failed);
        self.unsent.borrow_mut().buffer().extend_from_slice(record);
        self.remove_session();
        self.send(true);
        self.deliver_alert([FATAL, alert]);
        self.report_alert(false, alerts::FATAL, alert);
        self.want.set(Want::Nothing);
    }
}
