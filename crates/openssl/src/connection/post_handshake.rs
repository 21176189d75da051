//! Client authentication after the handshake, in TLS 1.3.

use tercel::client::CertificateRequested;
use tercel::error::{Error, Misuse};
use tercel::server::{ClientAuth, ClientCertificate};
use tercel::wire::{AlertDescription, ProtocolVersion};

use super::Ssl;
use super::pump::Moved;
use super::state::Side;
use crate::errors::{self, reasons};
use crate::settings::options::{VERIFY_FAIL_IF_NO_PEER_CERT, VERIFY_PEER};

impl Ssl {
    /// A server requests the client's certificate. `None`: an error is in the queue.
    pub(crate) fn request_certificate(&self) -> Option<()> {
        let mode = self.settings().verify_mode;
        let reason = if self.version() != i32::from(ProtocolVersion::TLS1_3.0) {
            Some(reasons::WRONG_SSL_VERSION)
        } else if self.side.get() != Some(Side::Server) {
            Some(reasons::NOT_SERVER)
        } else if !self.is_connected() {
            Some(reasons::STILL_IN_INIT)
        } else if mode & VERIFY_PEER == 0 {
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
                // What the transport does not accept now is written with the next data.
                let _: Moved = self.send(true);
                Some(())
            }
            Err(Error::Misuse(Misuse::NoPostHandshakeAuth)) => {
                errors::push(reasons::EXTENSION_NOT_RECEIVED);
                None
            }
            Err(Error::Misuse(Misuse::TooManyCertificateRequests)) => {
                errors::push(reasons::REQUEST_PENDING);
                None
            }
            Err(error) => {
                errors::push_error(error);
                None
            }
        }
    }

    /// A server received the client's answer. An error ends the connection.
    pub(crate) fn accept_certificate(&self, answer: &ClientCertificate) -> Result<(), Error> {
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

    /// A client answers a server's request, without a certificate if it has none that fits.
    pub(crate) fn answer_request(&self, request: CertificateRequested) -> Result<(), Error> {
        let chosen = self.choose(&request.request()).unwrap_or(None);
        let answered = match chosen {
            Some(credential) if credential.is_remote() => {
                let unsigned = request.prepare(&credential)?;
                let signature = self.sign(&credential, unsigned.scheme(), unsigned.content());
                let signature = signature.unwrap_or_default();
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
}
