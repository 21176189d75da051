//! From nothing to a connection: the sans-IO handshake.
//!
//! [`Handshake::advance`] opens records, hands whole messages to a coroutine that reads like the
//! RFC's figure, and carries out what it orders. An error becomes an alert here and nowhere else.
//! Must not know: sockets, clocks. Next: [`driver`], then `tls13/server.rs`.

pub(crate) mod client_session;
pub(crate) mod coroutine;
pub(crate) mod driver;
pub(crate) mod established;
pub(crate) mod few;
pub(crate) mod flow;
pub(crate) mod hello;
pub(crate) mod identity;
pub(crate) mod log;
pub(crate) mod pre_shared_key;
pub(crate) mod question;
pub(crate) mod record_limits;
pub(crate) mod records;
pub(crate) mod resumption;
pub(crate) mod running;
pub(crate) mod signature;
pub(crate) mod tls12;
pub(crate) mod tls13;
pub(crate) mod transcript;

use std::io::{self, Read, Write};
use std::sync::Arc;

use pki_types::ServerName;
use tercel_pki::Refusal;
use tercel_wire::ProtocolVersion;

use crate::config::client::ClientConfig;
use crate::config::policy::Side;
use crate::config::server::ServerConfig;
use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::connection::facts::Facts;
use crate::connection::sender::Sender;
use crate::connection::stream::{Stream, to_io};
use crate::error::{Error, Misuse};
use crate::session::client_store::ClientSessionKey;
use driver::{Driver, Step};
use question::{Answer, Question};
use records::Window;
use running::Running;

/// A handshake under way.
///
/// Give it what was received, send what it writes, and do what it says next:
///
/// ```no_run
/// # use tercel::{Handshake, Next, Received, Connection, Error};
/// # fn run(mut handshake: Handshake, mut receive: impl FnMut(&mut Received) -> usize,
/// #     mut send_all: impl FnMut(&mut Vec<u8>)) -> Result<Connection, Error> {
/// let (mut received, mut out) = (Received::new(), Vec::new());
/// let connection = loop {
///     let step = handshake.advance(&mut received, &mut out);
///     send_all(&mut out); // always: after an error there is an alert in it
///     match step? {
///         Next::Receive => {
///             if receive(&mut received) == 0 {
///                 handshake.end_of_input()?;
///             }
///         }
///         Next::Connected(connection) => break *connection,
///         _ => {} // no question was configured
///     }
/// };
/// # Ok(connection) }
/// ```
pub struct Handshake {
    side: Side,
    stage: Stage,
    /// The kind of question that is open.
    open: Option<Kind>,
    refusal: Option<Box<Refusal>>,
}

enum Stage {
    /// Nobody has said anything yet, and until then there is nothing else to hold.
    Silent(Beginning),
    UnderWay(Driver),
    Over,
}

/// What a handshake begins with.
enum Beginning {
    /// As soon as it is advanced.
    Client(Arc<ClientConfig>, ClientSessionKey),
    /// With what a client says.
    Server(Arc<ServerConfig>),
}

/// What to do next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Next {
    /// Receive more and call [`Handshake::advance`] again.
    Receive,
    /// Answer with [`Handshake::answer`], then call [`Handshake::advance`] again.
    Answer(Question),
    /// Server: early data, which may be a replay. RFC 9846 8
    EarlyData(Vec<u8>),
    /// The handshake is complete.
    Connected(Box<Connection>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Config,
    Session,
    PreSharedKey,
    EarlyData,
    Credential,
    Signature,
    Peer,
}

impl Handshake {
    /// A client's handshake with the server of this name. It takes no memory before it is advanced.
    #[must_use]
    pub fn client(config: Arc<ClientConfig>, server: ServerName<'static>) -> Self {
        Self::client_to(config, server, None)
    }

    /// A client's handshake with the server of this name at this port: sessions with it are kept apart from
    /// those with servers at other ports, and from those of [`Self::client`].
    #[must_use]
    pub fn client_at(config: Arc<ClientConfig>, server: ServerName<'static>, port: u16) -> Self {
        Self::client_to(config, server, Some(port))
    }

    fn client_to(
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
        port: Option<u16>,
    ) -> Self {
        let to = ClientSessionKey::new(server, port, config.resumption.context);
        Self::new(Beginning::Client(config, to))
    }

    /// A server's handshake with whoever connected. It takes no memory before something was received.
    #[must_use]
    pub fn server(config: Arc<ServerConfig>) -> Self {
        Self::new(Beginning::Server(config))
    }

    fn new(beginning: Beginning) -> Self {
        let side = match beginning {
            Beginning::Client(..) => Side::Client,
            Beginning::Server(_) => Side::Server,
        };
        Self { side, stage: Stage::Silent(beginning), open: None, refusal: None }
    }

    /// Takes the memory that a handshake needs.
    fn begin(&mut self) {
        self.stage = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Silent(beginning) => {
                let running = match beginning {
                    Beginning::Client(config, to) => Running::client(config, to),
                    Beginning::Server(config) => Running::server(config),
                };
                Stage::UnderWay(Driver::new(self.side, running))
            }
            stage => stage,
        };
    }

    fn driver(&mut self) -> Option<&mut Driver> {
        match &mut self.stage {
            Stage::UnderWay(driver) => Some(driver),
            Stage::Silent(_) | Stage::Over => None,
        }
    }

    /// Goes on with what is in `received`, and appends to `out` what is to be sent: also after an
    /// error, when it may be an alert.
    ///
    /// # Errors
    /// Whatever ended the handshake. The error is final.
    pub fn advance(&mut self, received: &mut Received, out: &mut Vec<u8>) -> Result<Next, Error> {
        if self.open.is_some() {
            return Err(Misuse::QuestionOpen.into());
        }
        if let Stage::Silent(beginning) = &self.stage {
            if matches!(beginning, Beginning::Server(_)) && received.is_empty() {
                return Ok(Next::Receive);
            }
            self.begin();
        }
        let driver = self.driver().ok_or(Misuse::HandshakeOver)?;
        match driver.advance(received, out) {
            Ok(Step::Receive) => Ok(Next::Receive),
            Ok(Step::EarlyData(bytes)) => Ok(Next::EarlyData(bytes)),
            Ok(Step::Ask(question)) => {
                self.open = Some(kind_of(&question));
                Ok(Next::Answer(question))
            }
            Ok(Step::Connected(connection)) => {
                self.stage = Stage::Over;
                Ok(Next::Connected(connection))
            }
            Err(error) => {
                if let Some(alert) = error.alert() {
                    driver.alert(alert, out);
                }
                let refusal = driver.take_refusal();
                self.refusal = refusal;
                self.stage = Stage::Over;
                Err(error)
            }
        }
    }

    /// Answers the open question.
    ///
    /// # Errors
    /// [`Misuse::WrongAnswer`] if none is open or the answer is of another kind.
    pub fn answer(&mut self, answer: Answer) -> Result<(), Error> {
        if matches!(self.stage, Stage::Over) {
            return Err(Misuse::HandshakeOver.into());
        }
        let kind = match &answer {
            Answer::Config(_) => Kind::Config,
            Answer::Session(_) => Kind::Session,
            Answer::PreSharedKey(_) => Kind::PreSharedKey,
            Answer::EarlyData(_) => Kind::EarlyData,
            Answer::Credential(_) => Kind::Credential,
            Answer::Signature(_) => Kind::Signature,
            Answer::Peer(_) => Kind::Peer,
        };
        if self.open != Some(kind) {
            return Err(Misuse::WrongAnswer.into());
        }
        self.open = None;
        match self.driver() {
            Some(driver) => driver.answer(answer),
            None => Ok(()),
        }
    }

    /// Says that the transport has ended, which ends the handshake.
    ///
    /// # Errors
    /// Always: [`Error::Truncated`], or [`Misuse::HandshakeOver`].
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Over => Err(Misuse::HandshakeOver.into()),
            Stage::Silent(_) | Stage::UnderWay(_) => Err(Error::Truncated),
        }
    }

    /// The chain and the names behind [`Error::Refused`]; `None` also if the leaf alone was reason enough.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Client: seals early data, once a session that allows it is being resumed. RFC 9846 4.3.10
    pub fn early_sender(&mut self) -> Option<&mut Sender> {
        self.driver()?.sender(Window::Early)
    }

    /// Server: what was agreed with a client whose early data was accepted, from its first piece until the handshake is
    /// complete. It says who it is with by the session that is resumed; the client has not shown that it is there.
    /// RFC 9846 8
    #[must_use]
    pub fn early_facts(&mut self) -> Option<&Facts> {
        self.driver()?.early_facts()
    }

    /// Server: seals data ahead of the client's Finished, to a client not yet authenticated. RFC 9846 4.5.3
    pub fn half_rtt_sender(&mut self) -> Option<&mut Sender> {
        self.driver()?.sender(Window::HalfRtt)
    }

    /// Runs the handshake over a blocking transport. Questions are not answered: use
    /// [`Self::advance`] with a configuration that asks.
    ///
    /// # Errors
    /// Those of the transport, and [`Error`] as the inner error of an [`io::Error`].
    pub fn complete<T: Read + Write>(&mut self, mut transport: T) -> io::Result<Stream<T>> {
        let (mut received, mut out) = (Received::new(), Vec::new());
        loop {
            let step = self.advance(&mut received, &mut out);
            let step = match step {
                // A server of TLS 1.3 ends with tickets: that they cannot be sent is no error of the handshake.
                Ok(Next::Connected(connection)) if ends_with_tickets(self.side, &connection) => {
                    return Ok(Stream::with_unsent(transport, *connection, received, out));
                }
                step => step,
            };
            let sent = transport.write_all(&out).and_then(|()| transport.flush());
            out.clear();
            let next = step.map_err(to_io)?;
            sent?;
            match next {
                Next::Receive => {
                    if received.read_from(&mut transport)? == 0 {
                        self.end_of_input().map_err(to_io)?;
                    }
                }
                Next::Connected(connection) => {
                    return Ok(Stream::new(transport, *connection, received));
                }
                Next::Answer(_) | Next::EarlyData(_) => {
                    return Err(to_io(Misuse::QuestionOpen.into()));
                }
            }
        }
    }
}

impl core::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Handshake").field("open", &self.open).finish_non_exhaustive()
    }
}

fn ends_with_tickets(side: Side, connection: &Connection) -> bool {
    side == Side::Server && connection.facts.version == ProtocolVersion::TLS1_3
}

fn kind_of(question: &Question) -> Kind {
    match question {
        Question::ChooseConfig(_) => Kind::Config,
        Question::FindSession(_) => Kind::Session,
        Question::FindPreSharedKey(_) => Kind::PreSharedKey,
        Question::AdmitEarlyData(_) => Kind::EarlyData,
        Question::SelectCredential(_) => Kind::Credential,
        Question::Sign(_) => Kind::Signature,
        Question::VerifyPeer(_) => Kind::Peer,
    }
}
