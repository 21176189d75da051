//! What protocol text may do: read a message, ask a question, send, change keys.
//!
//! What is sent waits for the end of its flight; a command is carried out at once, by what the driver
//! lends for as long as the coroutine runs. Only [`Flow::read`], [`Flow::read_change_cipher_spec`] and
//! [`Flow::ask`] wait.
//! Must not know: buffers, records, versions' rules. Next: `super::tls13::server`, [`super::records`].

use core::future::poll_fn;
use core::task::Poll;
use std::sync::Arc;

use tercel_pki::Refusal;
use tercel_wire::{HandshakeMessage, HandshakeType, ProtocolVersion};

use super::coroutine;
use super::established::Established;
use super::question::{Answer, Question};
use super::record_limits::RecordLimits;
use super::records::Records;
use super::transcript::Transcript;
use crate::connection::Connection;
use crate::connection::facts::Facts;
use crate::error::{Error, Local, Misuse};
use crate::keys::direction::NewKeys;
use crate::keys::tls13::TrafficSecret;
pub(crate) use crate::record::joiner::Message;
use crate::record::sealer::Padding;
use crate::session::stored::StoredSession;

/// What a coroutine and its driver have in common. One of them holds it, the one that runs.
pub(crate) struct Post {
    /// What the coroutine waits for; set when it does.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) message: Option<Message>,
    pub(crate) change_cipher_spec: bool,
    /// In a box: it is large, and most handshakes ask nothing.
    pub(crate) question: Option<Box<Question>>,
    pub(crate) answer: Option<Answer>,
    pub(crate) line: Line,
    /// What a handshake that is complete has become.
    pub(crate) connection: Option<Box<Connection>>,
    /// Why a peer was refused, for [`crate::Handshake::refusal`].
    pub(crate) refusal: Option<Box<Refusal>>,
}

/// Where messages and commands go.
#[cfg_attr(test, allow(clippy::large_enum_variant, reason = "the small one is for tests"))]
pub(crate) enum Line {
    /// Into records, at once.
    Records(Records),
    /// Onto a list, for a test that has something else to say.
    #[cfg(test)]
    Script(Script),
}

/// Each command behind the messages that were sent before it; then those that no command follows.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) orders: Vec<(Vec<u8>, Command)>,
    pub(crate) flight: Vec<u8>,
}

/// What a coroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Message,
    ChangeCipherSpec,
    Answer,
}

/// What a coroutine wants done, after what it has sent.
pub(crate) enum Command {
    /// Send a `change_cipher_spec` record.
    SendChangeCipherSpec,
    /// The version is agreed; records are read by its rules.
    Negotiated(ProtocolVersion),
    /// From here on, seal under this secret.
    InstallWrite(NewKeys),
    /// From here on, open under this secret. No byte of a next message may be waiting. RFC 9846 5.1
    InstallRead(NewKeys),
    /// Keep the receiver's and the sender's limits. RFC 8449
    RecordLimits(RecordLimits),
    /// What arrives as application data is early data, up to so many bytes; who reads it may ask what was agreed.
    /// RFC 9846 4.3.10
    ReadEarlyData { limit: u32, facts: Box<Facts> },
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

/// The coroutine's view of the post box.
#[derive(Default)]
pub(crate) struct Flow {
    /// Here while the coroutine runs, from its first look.
    post: Option<Box<Post>>,
}

impl Post {
    pub(crate) fn new(line: Line) -> Self {
        Self {
            wanted: None,
            message: None,
            change_cipher_spec: false,
            question: None,
            answer: None,
            line,
            connection: None,
            refusal: None,
        }
    }
}

impl Line {
    /// A driver's line is always one of records; the error is for tests.
    pub(crate) fn records(&mut self) -> Result<&mut Records, Error> {
        match self {
            Self::Records(records) => Ok(records),
            #[cfg(test)]
            Self::Script(_) => Err(Misuse::HandshakeOver.into()),
        }
    }

    /// Where the messages of a flight are gathered, behind whatever is there.
    fn flight(&mut self) -> Result<&mut Vec<u8>, Error> {
        match self {
            Self::Records(records) => records.flight(),
            #[cfg(test)]
            Self::Script(script) => Ok(&mut script.flight),
        }
    }

    fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        match self {
            Self::Records(records) => records.send(message),
            #[cfg(test)]
            Self::Script(script) => {
                script.flight.extend_from_slice(message);
                Ok(())
            }
        }
    }

    fn connect(&mut self, established: Established) -> Result<Option<Connection>, Error> {
        match self {
            Self::Records(records) => records.connect(established).map(Some),
            #[cfg(test)]
            Self::Script(_) => Ok(None),
        }
    }

    fn forget_on_alert(&mut self, session: Arc<StoredSession>) -> Result<(), Error> {
        match self {
            Self::Records(records) => records.forget_on_alert(session),
            #[cfg(test)]
            Self::Script(_) => Ok(()),
        }
    }

    fn carry_out(&mut self, command: Command) -> Result<(), Error> {
        match self {
            Self::Records(records) => records.carry_out(command),
            #[cfg(test)]
            Self::Script(script) => {
                script.orders.push((core::mem::take(&mut script.flight), command));
                Ok(())
            }
        }
    }
}

impl Flow {
    /// Waits for the next handshake message.
    pub(crate) async fn read(&mut self) -> Message {
        self.wait(Wanted::Message, |post| post.message.take()).await
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
    pub(crate) fn ask(&mut self, question: Question) -> impl Future<Output = Answer> {
        // At once, so that no future has to hold it.
        if let Ok(post) = self.post() {
            post.question = Some(Box::new(question));
        }
        self.wait(Wanted::Answer, |post| post.answer.take())
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
        let flight = self.post()?.line.flight()?;
        let start = flight.len();
        if let Err(error) = write(flight) {
            // Half a message must not leave.
            flight.truncate(start);
            return Err(error.into());
        }
        see(flight.get(start..).unwrap_or_default());
        Ok(())
    }

    /// Sends a message that is a flight of its own, straight from where it lies.
    pub(crate) fn send_alone(&mut self, message: &[u8]) -> Result<(), Error> {
        self.post()?.line.send(message)
    }

    /// Has a command carried out.
    pub(crate) fn order(&mut self, command: impl Into<Command>) -> Result<(), Error> {
        self.post()?.line.carry_out(command.into())
    }

    /// Makes the connection: the coroutine's last order.
    pub(crate) fn connect(&mut self, established: Established) -> Result<(), Error> {
        let post = self.post()?;
        // From where it is made to where it stays.
        post.connection = post.line.connect(established)?.map(Box::new);
        Ok(())
    }

    /// Has the session forgotten if the connection, made or still to be made, ends with a fatal alert. RFC 5246 7.2.2
    pub(crate) fn forget_on_alert(&mut self, session: Arc<StoredSession>) -> Result<(), Error> {
        let post = self.post()?;
        match &post.connection {
            Some(connection) => {
                connection.sender.link().forget_on_alert(session);
                Ok(())
            }
            None => post.line.forget_on_alert(session),
        }
    }

    /// Keeps the details of a refusal for the application and gives the error to end with.
    pub(crate) fn refuse(&mut self, refusal: Box<Refusal>) -> Error {
        let reason = refusal.reason;
        if let Ok(post) = self.post() {
            post.refusal = Some(refusal);
        }
        Error::Refused(reason)
    }

    /// What was sent cannot grow together with what comes next. Used where a peer expects a flight's end.
    pub(crate) fn install_write(&mut self, keys: impl Into<NewKeys>) -> Result<(), Error> {
        self.order(Command::InstallWrite(keys.into()))
    }

    pub(crate) fn install_read(&mut self, keys: impl Into<NewKeys>) -> Result<(), Error> {
        self.order(Command::InstallRead(keys.into()))
    }

    async fn wait<T>(&mut self, wanted: Wanted, mut take: impl FnMut(&mut Post) -> Option<T>) -> T {
        poll_fn(|_| {
            let Ok(post) = self.post() else { return Poll::Pending };
            if let Some(value) = take(post) {
                post.wanted = None;
                return Poll::Ready(value);
            }
            post.wanted = Some(wanted);
            self.pass();
            Poll::Pending
        })
        .await
    }

    /// To the driver.
    fn pass(&mut self) {
        if let Some(post) = self.post.take() {
            coroutine::pass(post);
        }
    }

    /// It is there whenever a coroutine runs; the error is for the compiler.
    fn post(&mut self) -> Result<&mut Post, Error> {
        if self.post.is_none() {
            self.post = coroutine::receive();
        }
        self.post.as_deref_mut().ok_or_else(|| Misuse::HandshakeOver.into())
    }
}

impl Drop for Flow {
    /// The end of the coroutine is its last word, also on a thread that unwinds for another reason.
    fn drop(&mut self) {
        self.pass();
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
