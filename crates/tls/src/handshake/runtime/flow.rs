//! Operations of a coroutine: read a message, ask a question, send a message, give a command.
//!
//! Messages are collected until the end of their flight. A command is carried out immediately. Only
//! [`Flow::read`], [`Flow::read_change_cipher_spec`] and [`Flow::ask`] wait.

use core::future::poll_fn;
use core::task::Poll;
use std::sync::Arc;

use tercel_pki::Refusal;
use tercel_wire::{HandshakeMessage, HandshakeType};

use super::command::{Command, Wanted};
use super::coroutine;
use super::established::Established;
#[cfg(feature = "quic")]
use super::mailbox::Transport;
use super::mailbox::{FailureDetails, Mailbox};
use crate::connection::info::{ConnectionInfo, Ech};
use crate::connection::tickets::NewSessions;
#[cfg(feature = "ech")]
use crate::ech::Offer;
use crate::error::{Error, InternalError, Misuse, PeerError};
use crate::handshake::question::{AnswerValue, Question};
use crate::handshake::transcript::Transcript;
use crate::keys::direction::NewKeys;
use crate::resumption::session::Session;
use crate::resumption::session::invalidation::StoredSession;
use crate::resumption::session::new_client_session::NewClientSession;

pub(crate) use crate::record::joiner::Message;

/// A coroutine's access to the mailbox.
#[derive(Default)]
pub(crate) struct Flow {
    /// The mailbox. It is present from the first access of the running coroutine on.
    mailbox: Option<Box<Mailbox>>,
}

impl Flow {
    /// Waits for the next handshake message.
    pub(crate) async fn read(&mut self) -> Message {
        self.wait(Wanted::Message, |mailbox| mailbox.message.take()).await
    }

    /// Waits for the next handshake message, which must be of this kind.
    pub(crate) async fn read_expected(&mut self, kind: HandshakeType) -> Result<Message, Error> {
        let message = self.read().await;
        message.require(kind)?;
        Ok(message)
    }

    /// Waits for a `change_cipher_spec`. TLS 1.2 only.
    pub(crate) async fn read_change_cipher_spec(&mut self) {
        self.wait(Wanted::ChangeCipherSpec, |mailbox| {
            core::mem::take(&mut mailbox.change_cipher_spec).then_some(())
        })
        .await;
    }

    /// Waits for the application's answer.
    pub(crate) fn ask(&mut self, question: Question) -> impl Future<Output = AnswerValue> {
        // The question is stored before the first poll, so that no future has to contain the
        // question.
        if let Ok(mailbox) = self.mailbox() {
            mailbox.question = Some(Box::new(question));
        }
        self.wait(Wanted::Answer, |mailbox| mailbox.answer.take())
    }

    /// Sends one handshake message and adds it to the transcript.
    pub(crate) fn send<'m>(
        &mut self,
        message: &impl HandshakeMessage<'m>,
        transcript: &mut Transcript,
    ) -> Result<(), Error> {
        self.send_with(|out| message.encode(out), |bytes| transcript.add(bytes))
    }

    /// Sends the message that `write` appends, and passes the message's bytes to `on_encoded`.
    pub(crate) fn send_with<E: Into<Error>>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        on_encoded: impl FnOnce(&[u8]),
    ) -> Result<(), Error> {
        let transport = &mut self.mailbox()?.transport;
        let flight = transport.flight()?;
        let start = flight.len();
        if let Err(error) = write(flight) {
            // An incomplete message must not be sent.
            flight.truncate(start);
            return Err(error.into());
        }
        on_encoded(flight.get(start..).unwrap_or_default());
        transport.tap_flight(start);
        Ok(())
    }

    /// Sends a message that is a flight of its own, without copying it into the flight's buffer.
    pub(crate) fn send_as_flight(&mut self, message: &[u8]) -> Result<(), Error> {
        self.mailbox()?.transport.send(message)
    }

    /// Gives a command to the transport.
    pub(crate) fn execute(&mut self, command: impl Into<Command>) -> Result<(), Error> {
        self.mailbox()?.transport.execute(command.into())
    }

    /// Server: whether early data is rejected, whatever the configuration allows.
    pub(crate) fn rejects_early_data(&mut self) -> bool {
        self.mailbox().is_ok_and(|mailbox| mailbox.rejects_early_data)
    }

    /// QUIC: returns this side's transport parameters. `None` over TCP. RFC 9001 8.2
    pub(crate) fn transport_parameters(&mut self) -> Option<Arc<[u8]>> {
        #[cfg(feature = "quic")]
        if let Ok(mailbox) = self.mailbox() {
            return mailbox.transport.seen_levels().map(|levels| Arc::clone(&levels.parameters));
        }
        None
    }

    /// Accepts the peer's transport parameters. Over QUIC they are mandatory; without them, the
    /// error is `missing`. Over TCP they are not allowed. RFC 9001 8.2
    pub(crate) fn receive_transport_parameters(
        &mut self,
        received: Option<&[u8]>,
        missing: PeerError,
    ) -> Result<(), Error> {
        #[cfg(feature = "quic")]
        match (self.mailbox()?.transport.levels(), received) {
            (Ok(levels), Some(received)) => levels.peer_parameters = Some(received.to_vec()),
            (Ok(_), None) => return Err(missing.into()),
            (Err(_), Some(_)) => return Err(PeerError::UnexpectedExtension.into()),
            (Err(_), None) => {}
        }
        // Without QUIC, the extension is ignored like an unknown one.
        _ = (received, missing);
        Ok(())
    }

    /// Client, QUIC: until the server's transport parameters arrive, those of the session apply to
    /// early data. RFC 9001 4.5, RFC 9000 7.4.1
    pub(crate) fn remember_transport_parameters(&mut self, session: &Session) -> Result<(), Error> {
        #[cfg(feature = "quic")]
        if let (Ok(levels), Some(quic)) = (self.mailbox()?.transport.levels(), &session.quic) {
            levels.peer_parameters = Some(quic.peer_parameters.clone());
        }
        _ = session;
        Ok(())
    }

    /// QUIC: returns the peer's transport parameters, for a session.
    pub(crate) fn peer_transport_parameters(&mut self) -> Vec<u8> {
        #[cfg(feature = "quic")]
        if let Ok(mailbox) = self.mailbox() {
            let levels = mailbox.transport.seen_levels();
            return levels.and_then(|levels| levels.peer_parameters.clone()).unwrap_or_default();
        }
        Vec::new()
    }

    /// Creates the connection. This is the last command of a coroutine.
    pub(crate) fn connect(&mut self, established: Established) -> Result<(), Error> {
        let mailbox = self.mailbox()?;
        // The connection is boxed here, so that it is moved only once.
        mailbox.connection = mailbox.transport.connect(established)?.map(Box::new);
        Ok(())
    }

    /// Removes the session from its store if the connection ends with a fatal alert, now or later.
    /// RFC 5246 7.2.2
    pub(crate) fn invalidate_on_alert(&mut self, session: Arc<StoredSession>) -> Result<(), Error> {
        let mailbox = self.mailbox()?;
        match &mailbox.connection {
            Some(connection) => {
                connection.sender.link().invalidate_on_alert(session);
                Ok(())
            }
            None => mailbox.transport.invalidate_on_alert(session),
        }
    }

    /// Client, TLS 1.2: returns a new session with the connection, which was created before.
    pub(crate) fn return_session(&mut self, session: NewClientSession) -> Result<(), Error> {
        if let Some(connection) = &mut self.mailbox()?.connection {
            NewSessions::add(&mut connection.receiver.post_handshake.sessions, session);
        }
        Ok(())
    }

    /// Stores the details of a refusal for the application. Returns the error that ends the
    /// handshake.
    pub(crate) fn refuse(&mut self, refusal: Box<Refusal>) -> Error {
        let reason = refusal.reason;
        if let Ok(mailbox) = self.mailbox() {
            mailbox.failure = Some(Box::new(FailureDetails::Refusal(refusal)));
        }
        Error::Refused(reason)
    }

    /// Ends the handshake of a client whose encrypted ClientHello was rejected, after the server
    /// has authenticated itself. RFC 9849 6.1.6
    pub(crate) fn check_ech(&mut self, info: &mut ConnectionInfo) -> Result<(), Error> {
        if info.ech != Ech::Rejected {
            return Ok(());
        }
        #[cfg(feature = "ech")]
        if let Ok(mailbox) = self.mailbox() {
            let configs = info.take_ech_retry_configs();
            mailbox.failure = Some(Box::new(FailureDetails::EchRetryConfigs(configs)));
        }
        Err(Error::EchRejected)
    }

    /// Client, QUIC: takes the offer of Encrypted ClientHello.
    #[cfg(feature = "ech")]
    pub(crate) fn take_ech_offer(&mut self) -> Option<Box<Offer>> {
        #[cfg(feature = "quic")]
        if let Ok(levels) = self.mailbox().and_then(|mailbox| mailbox.transport.levels()) {
            return levels.ech_offer.take();
        }
        None
    }

    /// Protects further records with these keys.
    pub(crate) fn install_write(&mut self, keys: impl Into<NewKeys>) -> Result<(), Error> {
        self.execute(Command::InstallWrite(keys.into()))
    }

    /// Server, QUIC: gives the keys that [`Self::install_read`] will install after the client's
    /// Finished, and the negotiated parameters. RFC 9001 4.1.4
    pub(crate) fn give_read_keys_in_advance(
        &mut self,
        keys: &NewKeys,
        info: &ConnectionInfo,
    ) -> Result<(), Error> {
        #[cfg(feature = "quic")]
        if let Transport::Quic(levels) = &mut self.mailbox()?.transport {
            levels.early_info.get_or_insert_with(|| Box::new(info.before_finished()));
            let secret = keys.keys().traffic_secret().ok_or(InternalError::Internal)?;
            return levels.execute(Command::ReadKeysInAdvance(secret.duplicate()));
        }
        _ = (keys, info);
        Ok(())
    }

    pub(crate) fn install_read(&mut self, keys: impl Into<NewKeys>) -> Result<(), Error> {
        self.execute(Command::InstallRead(keys.into()))
    }

    async fn wait<T>(
        &mut self,
        wanted: Wanted,
        mut take: impl FnMut(&mut Mailbox) -> Option<T>,
    ) -> T {
        poll_fn(|_| {
            let Ok(mailbox) = self.mailbox() else { return Poll::Pending };
            if let Some(value) = take(mailbox) {
                mailbox.wanted = None;
                return Poll::Ready(value);
            }
            mailbox.wanted = Some(wanted);
            self.pass();
            Poll::Pending
        })
        .await
    }

    /// Returns the mailbox to the driver.
    fn pass(&mut self) {
        if let Some(mailbox) = self.mailbox.take() {
            coroutine::pass(mailbox);
        }
    }

    /// Returns the mailbox. It is always present while a coroutine runs, so the error is
    /// unreachable.
    fn mailbox(&mut self) -> Result<&mut Mailbox, Error> {
        if self.mailbox.is_none() {
            self.mailbox = coroutine::receive();
        }
        self.mailbox.as_deref_mut().ok_or_else(|| Misuse::HandshakeEnded.into())
    }
}

impl Drop for Flow {
    /// Returns the mailbox at the end of the coroutine, and also when its thread unwinds.
    fn drop(&mut self) {
        self.pass();
    }
}

/// Returns the error for an answer of the wrong kind. It is unreachable, since `Handshake::answer`
/// checks the kind.
pub(crate) fn wrong_answer() -> Error {
    Misuse::WrongAnswer.into()
}

/// Returns the error for a connection that the application refuses.
pub(crate) fn refused() -> Error {
    InternalError::RefusedByApplication.into()
}
