//! Handshakes over QUIC, without I/O: connects a coroutine with the CRYPTO data of a transport.
//! RFC 9001 4.1.3, 4.1.4
//!
//! The coroutines are those of handshakes over TCP. `runtime/levels.rs` carries out their commands.

use std::sync::Arc;

use tercel_pki::{Refusal, ServerName};

use super::ech::RequestedOffer;
use super::question::{Answer, Question, QuestionKind};
use super::runtime::command::Wanted;
use super::runtime::established::Established;
use super::runtime::levels::{Event, Level, Levels};
use super::runtime::mailbox::{FailureDetails, Mailbox, Transport};
use super::task::Task;
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::connection::info::ConnectionInfo;
use crate::connection::quic::{Connection, Ended, Incoming};
use crate::error::{ConfigError, Error, Misuse};
use crate::events::Events;
use crate::keys::quic::update::KeyUpdates;
use crate::keys::quic::{DirectionKeys, Keys, Version};
use crate::side::Side;

/// A handshake over QUIC in progress.
///
/// The caller passes received CRYPTO data to [`Self::receive`], then calls [`Self::advance`] and
/// acts on each [`Next`] until it is [`Next::Receive`]. Data is sent in CRYPTO frames, in the
/// packets of its [`Level`].
///
/// ```no_run
/// use tercel::quic::{Connection, Ended, Handshake, Level, Next};
///
/// # fn run(mut handshake: Handshake, mut receive: impl FnMut() -> (Level, Vec<u8>),
/// #     mut send: impl FnMut(Level, Vec<u8>)) -> Result<Connection, Ended> {
/// let connection = loop {
///     match handshake.advance()? {
///         Next::Receive => {
///             let (level, data) = receive();
///             handshake.receive(level, &data)?;
///         }
///         Next::Send(level, data) => send(level, data),
///         Next::HandshakeKeys(keys) => { /* for Handshake packets */ }
///         Next::ApplicationKeys(keys, updates) => { /* for 1-RTT packets */ }
///         Next::Connected(connection) => break *connection,
///         _ => {} // no early data, and no question was configured
///     }
/// };
/// # Ok(connection) }
/// ```
pub struct Handshake {
    side: Side,
    stage: Stage,
    /// The mailbox, which contains the CRYPTO data and secrets. Absent while the coroutine runs,
    /// and after the end.
    mailbox: Option<Box<Mailbox>>,
    /// The kind of the unanswered question.
    pending: Option<QuestionKind>,
    failure: Option<Box<FailureDetails>>,
    events: Events,
}

enum Stage {
    Running(Task),
    /// The coroutine has ended; events may be left.
    Complete,
    /// The coroutine has ended with [`Error::EchRejected`]; events may be left.
    EchRejected,
    /// The handshake has ended. It keeps no secret, however long it exists.
    Ended,
}

/// The step that the transport has to take next.
#[non_exhaustive]
#[derive(Debug)]
pub enum Next {
    /// Pass more CRYPTO data to [`Handshake::receive`].
    Receive,
    /// Send this data in CRYPTO frames of this level. It follows the data of this level before.
    Send(Level, Vec<u8>),
    /// The keys of 0-RTT packets: on a client for sending, on a server for receiving. What they
    /// protect may be a replay. RFC 9001 4.6, 9.2
    EarlyKeys(Box<DirectionKeys>),
    /// Client: the server rejected early data, which has to be sent again in 1-RTT packets.
    /// RFC 9001 4.6.2
    EarlyDataRejected,
    /// The keys of Handshake packets.
    HandshakeKeys(Box<Keys>),
    /// The keys of 1-RTT packets, and those of later key phases. On a server, 1-RTT packets of the
    /// client must not be processed before [`Self::Connected`]. RFC 9001 5.7
    ///
    /// A client must not send application data before [`Self::Connected`] either, nor repeat early
    /// data: the handshake still ends with [`Error::EchRejected`] if the server rejected Encrypted
    /// ClientHello, and the peer is then only the server of the public name. RFC 9849 6.1.6
    ApplicationKeys(Box<Keys>, KeyUpdates),
    /// Answer the question with [`Handshake::answer`].
    Answer(Question),
    /// The handshake is complete. RFC 9001 4.1.1
    Connected(Box<Connection>),
}

impl Handshake {
    /// Creates a client's handshake with the server of this name. `parameters` are the client's
    /// encoded transport parameters. RFC 9001 8.2
    ///
    /// # Errors
    /// If the configuration cannot be used over QUIC: [`ConfigError::QuicWithoutTls13`],
    /// [`ConfigError::QuicWithoutAlpn`].
    pub fn client(
        config: &Arc<ClientConfig>,
        server: ServerName<'static>,
        version: Version,
        parameters: Vec<u8>,
    ) -> Result<Self, ConfigError> {
        Self::client_to(config, (server, None), version, parameters)
    }

    /// Creates a client's handshake with the server of this name at this port. Its sessions are
    /// stored separately from the sessions for other ports, and from the sessions of
    /// [`Self::client`].
    ///
    /// # Errors
    /// As for [`Self::client`].
    pub fn client_with_port(
        config: &Arc<ClientConfig>,
        server: ServerName<'static>,
        port: u16,
        version: Version,
        parameters: Vec<u8>,
    ) -> Result<Self, ConfigError> {
        Self::client_to(config, (server, Some(port)), version, parameters)
    }

    fn client_to(
        config: &Arc<ClientConfig>,
        (server, port): (ServerName<'static>, Option<u16>),
        version: Version,
        parameters: Vec<u8>,
    ) -> Result<Self, ConfigError> {
        let config = config.for_quic(version)?;
        let server = ServerIdentity::new(server, port);
        let mut events = Events::new(Side::Client);
        events.client_started(server.name());
        let task = Task::client(config, server, RequestedOffer::default());
        Ok(Self::new(Side::Client, task, Levels::new(version, parameters), events))
    }

    /// Creates a server's handshake. `parameters` are the server's encoded transport parameters.
    /// RFC 9001 8.2
    ///
    /// # Errors
    /// As for [`Self::client`].
    pub fn server(
        config: &Arc<ServerConfig>,
        version: Version,
        parameters: Vec<u8>,
    ) -> Result<Self, ConfigError> {
        let task = Task::server(config.for_quic(version)?);
        let levels = Levels::new(version, parameters);
        Ok(Self::new(Side::Server, task, levels, Events::new(Side::Server)))
    }

    fn new(side: Side, task: Task, levels: Levels, events: Events) -> Self {
        let mailbox = Some(Box::new(Mailbox::new(Transport::Quic(Box::new(levels)))));
        let stage = Stage::Running(task);
        Self { side, stage, mailbox, pending: None, failure: None, events }
    }

    /// Client: sets what is offered of Encrypted ClientHello on this connection. See
    /// [`crate::Handshake::with_ech`].
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    #[must_use]
    pub fn with_ech(mut self, offer: crate::ech::Offer) -> Self {
        if let Ok(levels) = self.levels() {
            levels.ech_offer = Some(Box::new(offer));
        }
        self
    }

    /// Adds CRYPTO data of this level, which has to follow the data received before. Its messages
    /// are processed by [`Self::advance`].
    ///
    /// # Errors
    /// If the data is of another level than [`Self::read_level`] or of a level whose keys were not
    /// given yet, or is more than a handshake contains. The connection has to be closed with
    /// [`Ended::code`].
    pub fn receive(&mut self, level: Level, data: &[u8]) -> Result<(), Ended> {
        if matches!(self.stage, Stage::Ended) {
            return Err(Error::from(Misuse::HandshakeEnded).into());
        }
        let received = self.levels().and_then(|levels| levels.receive(level, data));
        received.map_err(|error| self.fail(error))
    }

    /// Continues the handshake. An open question has to be answered first.
    ///
    /// # Errors
    /// Returns the reason why the handshake failed, such as [`Misuse::QuestionOpen`]. The
    /// connection has to be closed with [`Ended::code`].
    pub fn advance(&mut self) -> Result<Next, Ended> {
        if matches!(self.stage, Stage::Ended) {
            return Err(Error::from(Misuse::HandshakeEnded).into());
        }
        if self.pending.is_some() {
            return Err(self.fail(Misuse::QuestionOpen.into()));
        }
        self.continued().map_err(|error| self.fail(error))
    }

    fn continued(&mut self) -> Result<Next, Error> {
        loop {
            if let Some(event) = self.levels()?.next_event() {
                return Ok(self.next(event));
            }
            let task = match &mut self.stage {
                Stage::Running(task) => task,
                Stage::EchRejected => return Err(Error::EchRejected),
                Stage::Complete | Stage::Ended => return self.connected(),
            };
            let ended = task.resume(&mut self.mailbox);
            self.levels()?.send_flight()?;
            match ended {
                Some(Ok(())) => self.stage = Stage::Complete,
                // The client's Finished is sent first, so that the server's handshake is complete.
                // RFC 9849 6.1.6
                Some(Err(Error::EchRejected)) => self.stage = Stage::EchRejected,
                Some(Err(error)) => return Err(error),
                None if self.levels()?.has_events() => {}
                None => {
                    if let Some(next) = self.wait()? {
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// Passes the input that the coroutine waits for, or returns what the caller has to do.
    fn wait(&mut self) -> Result<Option<Next>, Error> {
        let mailbox = self.mailbox()?;
        match mailbox.wanted {
            Some(Wanted::Answer) => {
                let Some(question) = mailbox.question.take() else { return Ok(None) };
                self.pending = Some(question.kind());
                Ok(Some(Next::Answer(*question)))
            }
            _ => match mailbox.transport.levels()?.next_message()? {
                Some(message) => {
                    mailbox.message = Some(message);
                    Ok(None)
                }
                None => Ok(Some(Next::Receive)),
            },
        }
    }

    fn next(&mut self, event: Event) -> Next {
        match event {
            Event::Send(level, data) => Next::Send(level, data),
            Event::EarlyKeys(keys) => {
                if self.side == Side::Server {
                    self.events.early_data_accepted();
                }
                Next::EarlyKeys(keys)
            }
            Event::EarlyDataRejected => Next::EarlyDataRejected,
            Event::HandshakeKeys(keys) => Next::HandshakeKeys(keys),
            Event::ApplicationKeys(keys, updates) => Next::ApplicationKeys(keys, updates),
        }
    }

    fn connected(&mut self) -> Result<Next, Error> {
        let side = self.side;
        let levels = self.levels()?;
        // A coroutine ends with a result or an error, so these errors are unreachable.
        let established = levels.established.take().ok_or(Misuse::HandshakeEnded)?;
        let peer_parameters = levels.peer_parameters.take().ok_or(Misuse::HandshakeEnded)?;
        let Established { info, exporter, early_exporter, sessions, .. } = established;
        let mut incoming = Incoming::new(side, levels.take_joiner(), sessions);
        // Data that was received before the transport got the connection may not be allowed.
        incoming.process(&[])?;
        self.end();
        self.events.done(&info);
        let connection = Connection { info, exporter, early_exporter, peer_parameters, incoming };
        Ok(Next::Connected(Box::new(connection)))
    }

    /// Ends the handshake with this error.
    fn fail(&mut self, error: Error) -> Ended {
        if let Some(mailbox) = self.mailbox.as_deref_mut() {
            self.failure = mailbox.failure.take();
        }
        self.end();
        self.events.refused(error, self.refusal());
        Ended::new(error)
    }

    /// Ends the handshake, and wipes and frees what belongs to it.
    fn end(&mut self) {
        self.stage = Stage::Ended;
        self.mailbox = None;
        self.pending = None;
    }

    /// Answers the question of [`Next::Answer`].
    ///
    /// # Errors
    /// [`Misuse::WrongAnswer`] if there is no question, or the answer is of another kind;
    /// [`Misuse::HandshakeEnded`] after the end of the handshake.
    pub fn answer(&mut self, answer: Answer) -> Result<(), Error> {
        if matches!(self.stage, Stage::Ended) {
            return Err(Misuse::HandshakeEnded.into());
        }
        let Answer(value) = answer;
        if self.pending != Some(value.kind()) {
            return Err(Misuse::WrongAnswer.into());
        }
        self.pending = None;
        self.mailbox()?.answer = Some(value);
        Ok(())
    }

    /// Returns the side of this handshake.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// Returns the level of the CRYPTO data that is expected next. Data of another level is an
    /// error, and data of this level as well before its keys were given.
    #[must_use]
    pub fn read_level(&self) -> Level {
        self.seen().map_or(Level::Application, |levels| levels.read_level)
    }

    /// Returns the transport parameters of the peer, if they are known and the handshake has not
    /// ended; the [`Connection`] has them as well. Those of a server are not authenticated before
    /// the handshake is complete. On a client, they are those of the session from
    /// [`Next::EarlyKeys`] until the server's arrive. RFC 9001 8.2, 4.5
    #[must_use]
    pub fn peer_parameters(&self) -> Option<&[u8]> {
        self.seen()?.peer_parameters.as_deref()
    }

    /// Server: returns the negotiated parameters before the handshake is complete, from
    /// [`Next::EarlyKeys`] or [`Next::ApplicationKeys`] on. With early data, the client's identity
    /// is that of the resumed session; early data may be a replay. RFC 9846 8
    #[must_use]
    pub fn early_info(&self) -> Option<&ConnectionInfo> {
        self.seen()?.early_info.as_deref()
    }

    /// Returns the details of [`Error::Refused`]. See [`crate::Handshake::refusal`].
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.failure.as_ref()?.refusal()
    }

    /// Client: returns the configurations for one further attempt, after
    /// [`Error::EchRejected`]. See [`crate::Handshake::ech_retry_configs`].
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    #[must_use]
    pub fn ech_retry_configs(&self) -> Option<&crate::ech::ConfigList> {
        self.failure.as_ref()?.ech_retry_configs()
    }

    fn seen(&self) -> Option<&Levels> {
        self.mailbox.as_ref()?.transport.seen_levels()
    }

    fn levels(&mut self) -> Result<&mut Levels, Error> {
        self.mailbox()?.transport.levels()
    }

    /// Returns the mailbox. It is always present while the coroutine does not run, so the error is
    /// unreachable.
    fn mailbox(&mut self) -> Result<&mut Mailbox, Error> {
        self.mailbox.as_deref_mut().ok_or_else(|| Misuse::HandshakeEnded.into())
    }
}

debug_fields!(Handshake: side, pending);
