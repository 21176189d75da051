//! What protocol text may do: read a message, ask a question, send, change keys.
//!
//! Sending and changing keys are commands, carried out in order by [`super::driver`] after the
//! coroutine has given control back. Only [`Flow::read`], [`Flow::read_change_cipher_spec`] and
//! [`Flow::ask`] wait.
//! Must not know: buffers, records, versions' rules. Next: `super::tls13::server`.

use core::future::poll_fn;
use core::task::Poll;

use tercel_pki::Refusal;
use tercel_wire::{HandshakeMessage, HandshakeType, ProtocolVersion};

use super::coroutine::Mailbox;
use super::question::{Answer, Question};
use super::transcript::Transcript;
use crate::error::{Error, Local, Misuse, Peer};
use crate::keys::direction::Keys;
use crate::keys::tls13::TrafficSecret;
use crate::record::sealer::Padding;

/// What lies between a coroutine and its driver.
#[derive(Default)]
pub(crate) struct Post {
    /// What the coroutine waits for; set when it does.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) message: Option<Vec<u8>>,
    pub(crate) change_cipher_spec: bool,
    pub(crate) question: Option<Question>,
    pub(crate) answer: Option<Answer>,
    pub(crate) commands: Vec<Command>,
    /// The handshake messages that [`Command::Send`] counts off.
    pub(crate) outgoing: Vec<u8>,
    /// Why a peer was refused, for [`crate::Handshake::refusal`].
    pub(crate) refusal: Option<Box<Refusal>>,
}

/// What a coroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Message,
    ChangeCipherSpec,
    Answer,
}

/// What a coroutine wants done, in this order.
pub(crate) enum Command {
    /// Send the next so many bytes of `outgoing` under the current write key.
    Send(usize),
    /// Send a `change_cipher_spec` record.
    SendChangeCipherSpec,
    /// The version is agreed; records are read by its rules.
    Negotiated(ProtocolVersion),
    /// From here on, seal under this secret.
    InstallWrite(Keys),
    /// From here on, open under this secret. No byte of a next message may be waiting. RFC 9846 5.1
    InstallRead(Keys),
    /// Keep the receiver's and the sender's limits. RFC 8449
    RecordLimits { read: Option<u16>, write: Option<u16> },
    /// What arrives as application data is early data, up to so many bytes. RFC 9846 4.3.10
    ReadEarlyData { limit: u32 },
    /// Client: seal early data under this secret, up to so many bytes. RFC 9846 4.3.10
    WriteEarlyData { secret: TrafficSecret, limit: u32 },
    /// Client: early data was rejected by a retry; what follows is in the clear again. RFC 9846 4.2.2
    AbandonEarlyData,
    /// Server: application data may be sent ahead of the client's Finished. RFC 9846 2
    HalfRtt,
    /// Early data is on its way that was not accepted. RFC 9846 4.3.10
    SkipEarlyData { limit: u32 },
    /// No more early data can come, even unreadable.
    StopSkippingEarlyData,
    /// Pad records from here on. RFC 9846 5.4
    Padding(Padding),
}

/// The coroutine's end of the mailbox.
pub(crate) struct Flow {
    post: Mailbox<Post>,
}

/// A handshake message, header included. It belongs to whoever reads it.
pub(crate) struct Message(Vec<u8>);

impl Flow {
    pub(crate) fn new(post: Mailbox<Post>) -> Self {
        Self { post }
    }

    /// Waits for the next handshake message.
    pub(crate) async fn read(&mut self) -> Message {
        Message(self.wait(Wanted::Message, |post| post.message.take()).await)
    }

    /// Waits for the next handshake message, which must be of this kind.
    pub(crate) async fn read_expected(&mut self, kind: HandshakeType) -> Result<Message, Error> {
        let message = self.read().await;
        message.require(kind)?;
        Ok(message)
    }

    /// Waits for a `change_cipher_spec`. TLS 1.2 only.
    pub(crate) async fn read_change_cipher_spec(&mut self) {
        self.wait(Wanted::ChangeCipherSpec, |post| {
            core::mem::take(&mut post.change_cipher_spec).then_some(())
        })
        .await;
    }

    /// Waits for the application's answer.
    pub(crate) async fn ask(&mut self, question: Question) -> Answer {
        self.post.open().question = Some(question);
        self.wait(Wanted::Answer, |post| post.answer.take()).await
    }

    /// Sends one handshake message and adds it to the transcript.
    pub(crate) fn send<'m>(
        &mut self,
        message: &impl HandshakeMessage<'m>,
        transcript: &mut Transcript,
    ) -> Result<(), Error> {
        self.send_with(|out| message.encode(out), |bytes| transcript.add(bytes))
    }

    /// Sends the message that `write` appends, and hands its bytes to `see`.
    pub(crate) fn send_with<E: Into<Error>>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        see: impl FnOnce(&[u8]),
    ) -> Result<(), Error> {
        let mut post = self.post.open();
        let start = post.outgoing.len();
        write(&mut post.outgoing).map_err(Into::into)?;
        see(post.outgoing.get(start..).unwrap_or_default());
        let length = post.outgoing.len().saturating_sub(start);
        // Messages of one flight share records.
        if let Some(Command::Send(before)) = post.commands.last_mut() {
            *before = before.saturating_add(length);
        } else {
            post.commands.push(Command::Send(length));
        }
        Ok(())
    }

    /// Queues a command.
    pub(crate) fn order(&mut self, command: Command) {
        self.post.open().commands.push(command);
    }

    /// Keeps the details of a refusal for the application and gives the error to end with.
    pub(crate) fn refuse(&mut self, refusal: Box<Refusal>) -> Error {
        let reason = refusal.reason;
        self.post.open().refusal = Some(refusal);
        Error::Refused(reason)
    }

    /// What was sent cannot grow together with what comes next. Used where a peer expects a flight's end.
    pub(crate) fn install_write(&mut self, keys: Keys) {
        self.order(Command::InstallWrite(keys));
    }

    pub(crate) fn install_read(&mut self, keys: Keys) {
        self.order(Command::InstallRead(keys));
    }

    async fn wait<T>(&mut self, wanted: Wanted, mut take: impl FnMut(&mut Post) -> Option<T>) -> T {
        poll_fn(|_| {
            let mut post = self.post.open();
            if let Some(value) = take(&mut post) {
                post.wanted = None;
                return Poll::Ready(value);
            }
            post.wanted = Some(wanted);
            Poll::Pending
        })
        .await
    }
}

impl Message {
    pub(crate) fn kind(&self) -> HandshakeType {
        HandshakeType(self.0.first().copied().unwrap_or_default())
    }

    /// The message without its header.
    pub(crate) fn body(&self) -> &[u8] {
        self.0.get(4..).unwrap_or_default()
    }

    /// The message with its header, as the transcript wants it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn require(&self, kind: HandshakeType) -> Result<(), Error> {
        if self.kind() == kind { Ok(()) } else { Err(Peer::UnexpectedMessage.into()) }
    }
}

/// The driver checked that the answer fits the question; this is for the compiler.
pub(crate) fn wrong_answer() -> Error {
    Misuse::WrongAnswer.into()
}

/// Refusal by an application that answered "no".
pub(crate) fn refused() -> Error {
    Local::RefusedByApplication.into()
}
