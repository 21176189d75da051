//! What TLS 1.3 has after the handshake: key updates, and client authentication.

use core::ffi::c_int;
use std::sync::Arc;

use tercel::Credential;
use tercel::client::CertificateRequested;
use tercel::error::{Error, InternalError, Misuse};
use tercel::server::{ClientAuth, ClientCertificate};
use tercel::wire::{AlertDescription, ProtocolVersion};

use super::Ssl;
use super::alerts::FATAL;
use super::pump::Moved;
use super::state::{Side, Stage, Want};
use super::steps::Unanswered;
use super::writing::WaitingMessage;
use crate::errors::{self, reasons};
use crate::settings::options::{VERIFY_CLIENT_ONCE, VERIFY_FAIL_IF_NO_PEER_CERT, VERIFY_PEER};

const UPDATE_NOT_REQUESTED: c_int = 0;
const UPDATE_REQUESTED: c_int = 1;

impl Ssl {
    /// Updates the key of this side, and requests that the peer does so, too, if `kind` says that.
    /// `None`: an error is in the queue. RFC 9846 4.7.3
    pub(crate) fn update_key(&self, kind: c_int) -> Option<()> {
        let reason = if self.version() != i32::from(ProtocolVersion::TLS1_3.0) {
            Some(reasons::WRONG_SSL_VERSION)
        } else if ![UPDATE_NOT_REQUESTED, UPDATE_REQUESTED].contains(&kind) {
            Some(reasons::INVALID_KEY_UPDATE_TYPE)
        } else if !self.is_init_finished() {
            Some(reasons::STILL_IN_INIT)
        } else {
            None
        };
        if let Some(reason) = reason {
            errors::push(reason);
            return None;
        }
        let request = kind == UPDATE_REQUESTED;
        let updated =
            self.sealing(|connection, unsent| connection.sender.update_key(request, unsent));
        if let Err(error) = updated? {
            errors::push_error(error, None);
            return None;
        }
        self.message_waits(WaitingMessage::KeyUpdate(kind));
        Some(())
    }

    /// A server requests the client's certificate. `None`: an error is in the queue.
    pub(crate) fn request_certificate(&self) -> Option<()> {
        let mode = self.settings().verify_mode;
        let is_new = matches!(*self.stage.borrow(), Stage::New);
        let reason = if is_new || self.version() != i32::from(ProtocolVersion::TLS1_3.0) {
            Some(reasons::WRONG_SSL_VERSION)
        } else if self.side.get() != Some(Side::Server) {
            Some(reasons::NOT_SERVER)
        } else if !self.is_init_finished() {
            Some(reasons::STILL_IN_INIT)
        } else if self.awaits_certificate.get() {
            Some(reasons::REQUEST_SENT)
        } else if mode & VERIFY_PEER == 0
            || mode & VERIFY_CLIENT_ONCE != 0 && self.has_requested.get()
        {
            Some(reasons::INVALID_CONFIG)
        } else {
            None
        };
        if let Some(reason) = reason {
            errors::push(reason);
            return None;
        }
        let required = mode & VERIFY_FAIL_IF_NO_PEER_CERT != 0;
        let demand = if required { ClientAuth::Required } else { ClientAuth::Optional };
        let requested =
            self.sealing(|connection, unsent| connection.request_certificate(demand, unsent));
        match requested? {
            Ok(_) => {
                self.awaits_certificate.set(true);
                self.has_requested.set(true);
                self.message_waits(WaitingMessage::Authentication);
                // What the transport does not accept now is written by the next operation.
                let _: Moved = self.send_message();
                self.want.set(Want::Nothing);
                Some(())
            }
            Err(Error::Misuse(Misuse::NoPostHandshakeAuth)) => {
                errors::push(reasons::EXTENSION_NOT_RECEIVED);
                None
            }
            Err(error) => {
                errors::push_error(error, None);
                None
            }
        }
    }

    /// A server received the client's answer. An error ends the connection.
    pub(crate) fn accept_certificate(&self, answer: &ClientCertificate) -> Result<(), Error> {
        self.awaits_certificate.set(false);
        let Some(identity) = answer.identity() else {
            self.peer_chain.take();
            return Ok(());
        };
        let Err(refusal) = self.check_peer(&identity) else { return Ok(()) };
        let error = Error::Refused(refusal.reason);
        let alert = error.alert().unwrap_or(AlertDescription::CERTIFICATE_UNKNOWN);
        // The connection ends anyway.
        let _ = self.sealing(|connection, unsent| connection.sender.abort(alert, unsent));
        Err(error)
    }

    /// A client answers the server's request, if there is one, without a certificate if it has none
    /// that fits. Returns whether the connection can be used. If not, `want` says which callback is
    /// to be called again, or the connection has failed.
    pub(crate) fn answer_request(&self) -> bool {
        let Some(request) = self.request.take() else { return true };
        let chosen = match self.choose(&request.request()) {
            Ok(chosen) => chosen,
            Err(Unanswered::Later) => {
                self.request.replace(Some(request));
                return false;
            }
            Err(Unanswered::Alert(alert)) => {
                self.abort_connection(AlertDescription(alert));
                return false;
            }
        };
        if let Err(error) = self.send_answer(request, chosen) {
            self.abort_connection(error.alert().unwrap_or(AlertDescription::INTERNAL_ERROR));
            self.fail(error);
            return false;
        }
        self.message_waits(WaitingMessage::Authentication);
        self.send_control();
        true
    }

    fn send_answer(
        &self,
        request: CertificateRequested,
        chosen: Option<Arc<Credential>>,
    ) -> Result<(), Error> {
        let answered = match chosen {
            Some(credential) if credential.is_remote() => {
                let unsigned = request.prepare(&credential)?;
                let signature = self.sign(&credential, unsigned.scheme(), unsigned.content());
                let signature = signature.ok_or(Error::Internal(InternalError::SigningFailed))?;
                self.sealing(|connection, unsent| {
                    connection.sender.authenticate_signed(unsigned, &signature, unsent)
                })
            }
            chosen => self.sealing(|connection, unsent| {
                connection.sender.authenticate(request, chosen.as_ref(), unsent)
            }),
        };
        answered.unwrap_or(Ok(()))
    }

    /// Ends an established connection that a callback or an object of the application refused.
    fn abort_connection(&self, alert: AlertDescription) {
        // The connection ends anyway.
        let _ = self.sealing(|connection, unsent| connection.sender.abort(alert, unsent));
        self.report_alert(false, FATAL, alert.0);
        self.remove_session();
        self.send(true);
        self.failed.set(true);
        self.want.set(Want::Nothing);
    }
}
