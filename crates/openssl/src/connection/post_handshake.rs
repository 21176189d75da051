//! What TLS 1.3 has after the handshake: key updates, and client authentication.

use core::ffi::c_int;
use std::sync::Arc;

use tercel::client::CertificateRequested;
use tercel::error::{Error, InternalError, Misuse, PeerError};
use tercel::server::{ClientAuth, ClientCertificate};
use tercel::wire::AlertDescription;
use tercel::{Connection, Credential};

use super::Ssl;
use super::alerts::FATAL;
use super::pump::Moved;
use super::reading::Next;
use super::state::{Side, UPDATE_NOT_REQUESTED, UPDATE_REQUESTED, WaitingMessage, Want};
use super::steps::Unanswered;
use super::writing::{Transfer, is_closed};
use crate::errors::{self, reasons};
use crate::settings::options::{
    SENT_SHUTDOWN, VERIFY_CLIENT_ONCE, VERIFY_FAIL_IF_NO_PEER_CERT, VERIFY_PEER,
};

impl Ssl {
    /// Updates the key of this side, and requests that the peer does so, too, if `kind` says that.
    /// `None`: an error is in the queue. RFC 9846 4.7.3
    pub(crate) fn update_key(&self, kind: c_int) -> Option<()> {
        let reason = if !self.is_tls13() {
            Some(reasons::WRONG_SSL_VERSION)
        } else if ![UPDATE_NOT_REQUESTED, UPDATE_REQUESTED].contains(&kind) {
            Some(reasons::INVALID_KEY_UPDATE_TYPE)
        } else if !self.is_init_finished() {
            Some(reasons::STILL_IN_INIT)
        } else if !self.unsent.borrow().is_empty() {
            Some(reasons::BAD_WRITE_RETRY)
        } else {
            None
        };
        if let Some(reason) = reason {
            errors::push(reason);
            return None;
        }
        self.owes_update.set(false);
        let request = kind == UPDATE_REQUESTED;
        let updated =
            self.sealing(|connection, unsent| connection.sender.update_key(request, unsent));
        match updated? {
            Ok(()) => self.message_waits(WaitingMessage::KeyUpdate(kind)),
            Err(error) if is_closed(error) => {
                self.waiting.set(Some(WaitingMessage::KeyUpdate(kind)));
            }
            Err(error) => {
                errors::push_error(error, None);
                return None;
            }
        }
        Some(())
    }

    /// A server requests the client's certificate. `None`: an error is in the queue.
    pub(crate) fn request_certificate(&self) -> Option<()> {
        let mode = self.settings().verify_mode;
        let offers = |connection: &mut Connection| connection.info.post_handshake_auth;
        let reason = if !self.is_tls13() {
            Some(reasons::WRONG_SSL_VERSION)
        } else if self.side.get() != Some(Side::Server) {
            Some(reasons::NOT_SERVER)
        } else if !self.is_init_finished() {
            Some(reasons::STILL_IN_INIT)
        } else if self.awaits_certificate.get() {
            Some(reasons::REQUEST_SENT)
        } else if self.with_connection(offers) != Some(true) {
            Some(reasons::EXTENSION_NOT_RECEIVED)
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
            Err(error) if is_closed(error) => {
                self.awaits_certificate.set(true);
                self.has_requested.set(true);
                Some(())
            }
            Ok(_) => {
                self.awaits_certificate.set(true);
                self.has_requested.set(true);
                self.message_waits(WaitingMessage::Authentication);
                // What the transport does not accept now is written by the next operation.
                errors::without_errors(|| self.send_message());
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

    /// Whether the mode demands a certificate of the client.
    pub(super) fn demands_certificate(&self) -> bool {
        const BOTH: c_int = VERIFY_PEER | VERIFY_FAIL_IF_NO_PEER_CERT;
        self.settings().verify_mode & BOTH == BOTH
    }

    /// A server received the client's answer. An error ends the connection.
    pub(crate) fn accept_certificate(&self, answer: &ClientCertificate) -> Result<(), Error> {
        self.awaits_certificate.set(false);
        let Some(identity) = answer.identity() else {
            self.peer_chain.take();
            // The application may demand it since the request.
            let is_missing = self.demands_certificate();
            return if is_missing { Err(PeerError::CertificateRequired.into()) } else { Ok(()) };
        };
        self.check_peer(&identity).map_err(|refusal| Error::Refused(refusal.reason))
    }

    /// A client received a request. As with OpenSSL, it is not answered after close_notify, and the
    /// connection continues.
    pub(super) fn receive_request(&self, request: CertificateRequested) {
        if self.shutdown.get() & SENT_SHUTDOWN == 0 {
            self.requests.borrow_mut().push_back(request);
        }
    }

    /// A client answers the server's requests, if there are any, without a certificate if it has
    /// none that fits. Returns whether the connection can be used. If not, `want` says which
    /// callback is to be called again, or the connection has failed.
    pub(crate) fn answer_requests(&self) -> bool {
        loop {
            let next = self.requests.borrow_mut().pop_front();
            let Some(request) = next else { return true };
            // Callbacks see a connection that is in a handshake.
            self.answers.set(self.answers.get().saturating_add(1));
            // The answer to a key update precedes this one.
            self.owes_update.set(false);
            let can_go_on = self.answer_request(request);
            // `SSL_clear` in a callback sets it to 0.
            self.answers.set(self.answers.get().saturating_sub(1));
            if !can_go_on {
                return false;
            }
        }
    }

    fn answer_request(&self, request: CertificateRequested) -> bool {
        let chosen = match self.choose(&request.request()) {
            Ok(chosen) => chosen,
            Err(Unanswered::Later) => {
                // Another request may have arrived while the callback ran.
                self.requests.borrow_mut().push_front(request);
                return false;
            }
            Err(Unanswered::Alert(alert)) => {
                self.abort_connection(Some(AlertDescription(alert)));
                return false;
            }
        };
        match self.send_answer(request, chosen) {
            Ok(()) => {
                self.message_waits(WaitingMessage::Authentication);
                self.send_message() == Moved::Done
            }
            Err(error) if is_closed(error) => true,
            Err(error) => {
                self.fail(error);
                let alert = error.alert().unwrap_or(AlertDescription::INTERNAL_ERROR);
                self.abort_connection(Some(alert));
                false
            }
        }
    }

    /// A server receives the rest of the answer that has begun to arrive, if there is one. As with
    /// OpenSSL, nothing is written before its Finished. Returns whether the connection can be used.
    pub(crate) fn finish_answer(&self) -> bool {
        while self.receives_answer() {
            // No data can arrive here: the record layer refuses it. RFC 9846 4.7.2
            let stopped = match self.open(&mut [], true) {
                Next::Answered(answer) => {
                    self.accept_certificate(&answer).err().map(|error| self.receiving_failed(error))
                }
                Next::Failed(error) => Some(self.receiving_failed(error)),
                Next::Closed => Some(self.closed()),
                Next::More => match self.receive() {
                    Moved::Done => None,
                    Moved::End => Some(self.truncated()),
                    Moved::Blocked | Moved::Failed(_) => Some(Transfer::Stopped),
                },
                Next::Message | Next::Data(_) | Next::Requested(_) => None,
            };
            if stopped.is_some() {
                return false;
            }
        }
        true
    }

    /// Like [`Self::finish_answer`], for an operation that writes. While another thread reads, that
    /// one receives the answer, and data can be written.
    pub(crate) fn finish_answer_as_writer(&self) -> bool {
        if !self.receives_answer() || self.is_reading() {
            return true;
        }
        self.as_reader(|| self.finish_answer()).unwrap_or(false)
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

    /// Ends an established connection for an error that is in the queue: with an alert, unless it
    /// is `None`. As with OpenSSL, callbacks that see the alert see a failed connection.
    pub(super) fn abort_connection(&self, alert: Option<AlertDescription>) {
        self.failed.set(true);
        let Some(alert) = alert else { return };
        self.remove_session();
        // After close_notify, no alert is sent.
        if self.shutdown.get() & SENT_SHUTDOWN == 0 {
            // As with OpenSSL, no alert follows the record of a blocked write.
            if self.unsent.borrow().is_empty() {
                // The connection ends anyway.
                let _ = self.sealing(|connection, unsent| connection.sender.abort(alert, unsent));
                self.send(true);
            }
            self.report_alert(false, FATAL, alert.0);
        }
        self.want.set(Want::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use core::cell::{Cell, RefCell};
    use core::ffi::c_void;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use tercel::pki_types::PrivateKeyDer;
    use tercel::{Connection, Handshake, Next, Opened, Policy, ReceiveBuffer, ServerConfig};

    use super::*;
    use crate::context::Context;
    use crate::objects::bio::Bio;
    use crate::settings::callbacks::Callback;

    /// A server that may request several certificates at a time. Those on OpenSSL's interface wait
    /// for the answer to the first.
    struct Server {
        stream: UnixStream,
        received: ReceiveBuffer,
        connection: Connection,
    }

    impl Server {
        /// Connects a client to a new server.
        fn connect(client: &Ssl, mut stream: UnixStream) -> Self {
            let key = rcgen::KeyPair::generate().unwrap();
            let params = rcgen::CertificateParams::new(vec!["server.test".to_owned()]).unwrap();
            let chain = vec![params.self_signed(&key).unwrap().der().clone()];
            let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
            let config = ServerConfig::builder()
                .credential(Credential::new(chain, &key).unwrap())
                .client_verifier(ClientAuth::None, Policy::Ask)
                .build();
            let mut handshake = Handshake::server(config.unwrap());
            let mut received = ReceiveBuffer::new();
            let mut out = Vec::new();
            loop {
                match handshake.advance(&mut received, &mut out).unwrap() {
                    Next::Receive => {
                        stream.write_all(&out).unwrap();
                        out.clear();
                        client.do_handshake();
                        received.read_from(&mut stream).unwrap();
                    }
                    Next::Connected(connection) => {
                        stream.write_all(&out).unwrap();
                        return Self { stream, received, connection: *connection };
                    }
                    other => panic!("{other:?}"),
                }
            }
        }

        fn request(&mut self) {
            let mut out = Vec::new();
            self.connection.request_certificate(ClientAuth::Optional, &mut out).unwrap();
            self.stream.write_all(&out).unwrap();
        }

        /// Receives data of the client. Returns the number of answers before it.
        fn answers_before_data(&mut self) -> usize {
            let mut answers = 0;
            loop {
                match self.connection.receiver.open(&mut self.received).unwrap() {
                    Opened::Data(_) => return answers,
                    Opened::ClientCertificate(_) => answers += 1,
                    Opened::More => drop(self.received.read_from(&mut self.stream).unwrap()),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    /// The actions and the result of the certificate callback.
    struct Callee {
        server: RefCell<Server>,
        /// Whether another request arrives while the callback runs.
        reads: Cell<bool>,
        result: Cell<c_int>,
    }

    unsafe extern "C" fn on_certificate(ssl: *mut c_void, argument: *mut c_void) -> c_int {
        // SAFETY: the test passes both.
        let (ssl, callee) = unsafe { (&*ssl.cast::<Ssl>(), &*argument.cast::<Callee>()) };
        if callee.reads.take() {
            callee.server.borrow_mut().request();
            let read = ssl.as_reader(|| ssl.read(&mut [0], false));
            assert_eq!(read, Some(Transfer::Stopped));
        }
        callee.result.get()
    }

    /// A thread reads a request while another one, which writes, runs the callback for an earlier
    /// one. RFC 9846 4.7.2
    #[test]
    fn no_request_is_lost() {
        // SAFETY: the function returns a static object.
        let method = unsafe { &*crate::method::TLS_client_method() };
        let context = Context::new(method).unwrap();
        context.change(|settings| settings.post_handshake_auth = true);
        let ssl = Ssl::new(&context).unwrap();
        let (own, other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let bio = Bio::socket(own.as_raw_fd()).unwrap();
        ssl.input.replace(Some(bio.clone()));
        ssl.output.replace(Some(bio));
        ssl.take_side(Side::Client);
        let callee = Callee {
            server: RefCell::new(Server::connect(&ssl, other)),
            reads: Cell::new(false),
            result: Cell::new(-1),
        };
        let argument = core::ptr::from_ref(&callee).cast_mut().cast();
        let function = Some(on_certificate as unsafe extern "C" fn(_, _) -> _);
        ssl.change(|settings| settings.callbacks.certificate = Callback { function, argument });

        callee.server.borrow_mut().request();
        assert_eq!(ssl.as_reader(|| ssl.read(&mut [0], false)), Some(Transfer::Stopped));
        callee.reads.set(true);
        assert_eq!(ssl.as_writer(|| ssl.write(b"x")), Some(Transfer::Stopped));
        assert_eq!(ssl.requests.borrow().len(), 2);
        callee.result.set(1);
        assert_eq!(ssl.as_writer(|| ssl.write(b"x")), Some(Transfer::Bytes(1)));
        assert_eq!(callee.server.borrow_mut().answers_before_data(), 2);
    }
}
