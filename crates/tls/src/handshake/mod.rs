//! Handshakes without I/O.
//!
//! [`Handshake::advance`] opens records, passes complete messages to a coroutine, and carries out
//! its commands. The steps of a coroutine have the order of the RFC's figure. Only this module
//! turns an error of a handshake into an alert.

pub(crate) mod certificate_type_negotiation;
pub(crate) mod client_hello;
pub(crate) mod client_session;
mod driver;
pub(crate) mod ech;
pub(crate) mod identity;
pub(crate) mod negotiate;
pub(crate) mod pre_shared_key;
pub(crate) mod question;
#[cfg(feature = "quic")]
pub(crate) mod quic;
pub(crate) mod resumption_rules;
pub(crate) mod runtime;
pub(crate) mod secret_log;
pub(crate) mod short_list;
pub(crate) mod signature;
pub(crate) mod start;
pub(crate) mod task;
pub(crate) mod tls12;
pub(crate) mod tls13;
pub(crate) mod transcript;

use core::mem;
use std::sync::Arc;

use tercel_pki::{Refusal, ServerName};
use tercel_wire::AlertDescription;

use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::info::ConnectionInfo;
use crate::connection::sender::Sender;
use crate::error::{Error, InternalError, Misuse};
use crate::events::Events;
#[cfg(feature = "message-tap")]
use crate::message_tap::MessageTap;
use crate::side::Side;
use driver::Driver;
use ech::RequestedOffer;
use question::{Answer, Question, QuestionKind};
use runtime::mailbox::FailureDetails;
use runtime::records::Window;
use task::Task;

/// A handshake in progress.
///
/// The caller passes received bytes to [`Self::advance`], sends the bytes that this method wrote,
/// and then acts on the returned [`Next`]:
///
/// ```no_run
/// # use tercel::{Handshake, Next, ReceiveBuffer, Connection, Error};
/// # fn run(mut handshake: Handshake, mut receive: impl FnMut(&mut ReceiveBuffer) -> usize,
/// #     mut send_all: impl FnMut(&mut Vec<u8>)) -> Result<Connection, Error> {
/// let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
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
    pub(crate) side: Side,
    stage: Stage,
    /// The kind of the unanswered question.
    pending: Option<QuestionKind>,
    failure: Option<Box<FailureDetails>>,
    events: Events,
    rejects_early_data: bool,
    /// The state of a call of [`Handshake::complete`] that was interrupted, because the transport
    /// would have blocked.
    pub(crate) interrupted: Option<Box<Transfer>>,
    /// The tap of a handshake that has not started.
    #[cfg(feature = "message-tap")]
    tap: Option<Arc<dyn MessageTap>>,
}

/// Buffers of [`Handshake::complete`]: received bytes that are not processed yet, and bytes to
/// send.
#[derive(Default)]
pub(crate) struct Transfer {
    pub(crate) received: ReceiveBuffer,
    pub(crate) out: Vec<u8>,
    /// Whether the transport has to be flushed after `out` is sent.
    pub(crate) unflushed: bool,
    /// The result to process after all of `out` is sent.
    pub(crate) step: Option<Result<Next, Error>>,
}

enum Stage {
    /// No byte was sent or received, so the state of a running handshake is not allocated yet.
    NotStarted(Arguments),
    Running(Driver),
    Ended,
}

/// The arguments of a handshake that has not started.
enum Arguments {
    /// Starts at the first call of `advance`.
    Client(Arc<ClientConfig>, ServerIdentity, RequestedOffer),
    /// Starts when bytes of a client arrive.
    Server(Arc<ServerConfig>),
}

/// The step that the caller has to take next.
#[non_exhaustive]
pub enum Next {
    /// Receive more bytes and call [`Handshake::advance`] again.
    Receive,
    /// Answer the question with [`Handshake::answer`], then call [`Handshake::advance`] again.
    Answer(Question),
    /// Server: a piece of early data, which may be a replay. RFC 9846 8
    EarlyData(Vec<u8>),
    /// The handshake is complete.
    Connected(Box<Connection>),
}

/// The output contains no early data.
impl core::fmt::Debug for Next {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Receive => f.write_str("Receive"),
            Self::Answer(question) => write!(f, "Answer({question:?})"),
            Self::EarlyData(data) => write!(f, "EarlyData({} bytes)", data.len()),
            Self::Connected(connection) => f.debug_tuple("Connected").field(connection).finish(),
        }
    }
}

impl Handshake {
    /// Creates a client's handshake with the server of this name. No memory is allocated before the
    /// first call of [`Self::advance`].
    #[must_use]
    pub fn client(config: Arc<ClientConfig>, server: ServerName<'static>) -> Self {
        Self::client_to(config, server, None)
    }

    /// Creates a client's handshake with the server of this name at this port. Its sessions are
    /// stored separately from the sessions for other ports, and from the sessions of
    /// [`Self::client`].
    #[must_use]
    pub fn client_with_port(
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
        port: u16,
    ) -> Self {
        Self::client_to(config, server, Some(port))
    }

    fn client_to(
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
        port: Option<u16>,
    ) -> Self {
        let server = ServerIdentity::new(server, port);
        Self::new(Arguments::Client(config, server, RequestedOffer::default()))
    }

    /// Client: sets what is offered of Encrypted ClientHello on this connection, in place of
    /// [`crate::client::ClientConfigBuilder::ech_grease`]. Without effect on a server, and after
    /// the first call of [`Self::advance`].
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    #[must_use]
    pub fn with_ech(mut self, offer: crate::ech::Offer) -> Self {
        if let Stage::NotStarted(Arguments::Client(_, _, requested)) = &mut self.stage {
            *requested = Some(Box::new(offer));
        }
        self
    }

    /// Creates a server's handshake. No memory is allocated before the first bytes are received.
    #[must_use]
    pub fn server(config: Arc<ServerConfig>) -> Self {
        Self::new(Arguments::Server(config))
    }

    /// Server: rejects early data in this handshake, whatever its configuration allows, for a
    /// caller that does not read it. The client sends the data again after the handshake. The
    /// tickets of this connection allow no early data. Without effect on a client, and after the
    /// first call of [`Self::advance`] with bytes of the client. RFC 9846 4.3.10
    #[must_use]
    pub fn without_early_data(mut self) -> Self {
        self.reject_early_data();
        self
    }

    /// See [`Self::without_early_data`].
    pub(crate) fn reject_early_data(&mut self) {
        self.rejects_early_data = true;
    }

    fn new(arguments: Arguments) -> Self {
        let side = match arguments {
            Arguments::Client(..) => Side::Client,
            Arguments::Server(_) => Side::Server,
        };
        let (stage, pending) = (Stage::NotStarted(arguments), None);
        let events = Events::new(side);
        Self {
            side,
            stage,
            pending,
            failure: None,
            events,
            rejects_early_data: false,
            interrupted: None,
            #[cfg(feature = "message-tap")]
            tap: None,
        }
    }

    /// Starts the handshake, which allocates its memory.
    fn start(&mut self) {
        self.stage = match mem::replace(&mut self.stage, Stage::Ended) {
            Stage::NotStarted(arguments) => {
                let task = match arguments {
                    Arguments::Client(config, server, ech) => {
                        self.events.client_started(server.name());
                        Task::client(config, server, ech)
                    }
                    Arguments::Server(config) => Task::server(config),
                };
                let mut driver = Driver::new(self.side, task);
                if self.rejects_early_data {
                    driver.reject_early_data();
                }
                #[cfg(feature = "message-tap")]
                if let Some(tap) = self.tap.take() {
                    driver.set_message_tap(tap);
                }
                Stage::Running(driver)
            }
            stage => stage,
        };
    }

    /// Sets a tap that sees the protocol messages of this handshake and of its connection. It has
    /// to be set before the first call of [`Self::advance`]; later calls have no effect. A
    /// connection that is saved or exported has no tap afterwards.
    #[cfg(feature = "message-tap")]
    #[cfg_attr(docsrs, doc(cfg(feature = "message-tap")))]
    pub fn set_message_tap(&mut self, tap: Arc<dyn MessageTap>) {
        self.tap = Some(tap);
    }

    fn driver(&mut self) -> Option<&mut Driver> {
        match &mut self.stage {
            Stage::Running(driver) => Some(driver),
            Stage::NotStarted(_) | Stage::Ended => None,
        }
    }

    /// Continues the handshake with the bytes in `received`, and appends bytes to send to `out`.
    /// These have to be sent even after an error, since they may contain an alert.
    ///
    /// # Errors
    /// Returns the reason why the handshake failed. The handshake cannot be continued.
    pub fn advance(
        &mut self,
        received: &mut ReceiveBuffer,
        out: &mut Vec<u8>,
    ) -> Result<Next, Error> {
        if self.pending.is_some() {
            return Err(Misuse::QuestionOpen.into());
        }
        if let Stage::NotStarted(arguments) = &self.stage {
            if matches!(arguments, Arguments::Server(_)) && received.is_empty() {
                return Ok(Next::Receive);
            }
            self.start();
        }
        let Stage::Running(driver) = &mut self.stage else {
            return Err(Misuse::HandshakeEnded.into());
        };
        let next = driver.advance(received, out);
        match &next {
            Ok(Next::Receive) => {}
            Ok(Next::EarlyData(_)) => self.events.early_data_accepted(),
            Ok(Next::Answer(question)) => self.pending = Some(question.kind()),
            Ok(Next::Connected(connection)) => {
                self.stage = Stage::Ended;
                self.events.done(&connection.info);
            }
            Err(error) => {
                driver.fail(*error, out);
                self.failure = driver.take_failure();
                self.stage = Stage::Ended;
                self.events.refused(*error, self.refusal());
            }
        }
        next
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
        match self.driver() {
            Some(driver) => driver.answer(value),
            None => Ok(()),
        }
    }

    /// Ends the handshake for a reason of the application, for example a question that it cannot
    /// answer, and appends a fatal alert to `out`, under the keys that the peer expects. Without
    /// effect before bytes were sent or received, and after the end of the handshake. RFC 9846 6.2,
    /// RFC 5246 7.2.2
    ///
    /// ```
    /// # use tercel::{Handshake, Next, wire::AlertDescription};
    /// # fn run(handshake: &mut Handshake, next: &Next, out: &mut Vec<u8>) {
    /// if let Next::Answer(question) = next {
    ///     eprintln!("no answer to {question:?}");
    ///     handshake.abort(AlertDescription::INTERNAL_ERROR, out);
    /// }
    /// # }
    /// ```
    pub fn abort(&mut self, alert: AlertDescription, out: &mut Vec<u8>) {
        if let Stage::Running(driver) = &mut self.stage {
            driver.abort(alert, out);
            self.failure = driver.take_failure();
            self.events.refused(InternalError::RefusedByApplication.into(), None);
            self.stage = Stage::Ended;
            self.pending = None;
        }
    }

    /// Reports the end of the transport's input, which ends the handshake.
    ///
    /// # Errors
    /// Always returns an error: [`Error::Truncated`], or [`Misuse::HandshakeEnded`].
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        match mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Ended => Err(Misuse::HandshakeEnded.into()),
            Stage::NotStarted(_) | Stage::Running(_) => {
                self.events.refused(Error::Truncated, None);
                Err(Error::Truncated)
            }
        }
    }

    /// Returns the details of [`Error::Refused`]: the chain and the names. `None` if there was no
    /// such error, or if the verifier was not called because the peer's public key cannot be used.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.failure.as_ref()?.refusal()
    }

    /// Server: after an error of [`Self::advance`], or after [`Self::abort`], returns the ID of the
    /// TLS 1.2 session that must not be resumed any more: the handshake was to resume it and ended
    /// with a fatal alert after the client had proved that it has the session's key. `None`
    /// otherwise: before that proof, any client that has seen the ID could cause the alert.
    ///
    /// An application that stores sessions itself removes the session, unless the object of
    /// [`forget_session`](crate::server::ServerConfigBuilder::forget_session) has done so. A store
    /// of the configuration is called by the handshake. RFC 5246 7.2.2
    #[must_use]
    pub fn session_to_forget(&self) -> Option<&[u8; 32]> {
        self.failure.as_ref()?.session_to_forget()
    }

    /// Client: returns the configurations for one further attempt, after
    /// [`Error::EchRejected`]. The server has authenticated them. If the list is empty, or has no
    /// [usable](crate::ech::ConfigList::usable) configuration, the server has securely disabled
    /// Encrypted ClientHello, and the further attempt is made without it.
    ///
    /// If the further attempt is rejected with other configurations, the server is misconfigured,
    /// and there should be no third attempt. RFC 9849 6.1.6
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    #[must_use]
    pub fn ech_retry_configs(&self) -> Option<&crate::ech::ConfigList> {
        self.failure.as_ref()?.ech_retry_configs()
    }

    /// Client: returns the sender of early data. `None` unless the offered session allows early
    /// data. RFC 9846 4.3.10
    pub fn early_sender(&mut self) -> Option<&mut Sender> {
        self.driver()?.sender(Window::Early)
    }

    /// Server: returns the parameters negotiated with a client whose early data is accepted. They
    /// are present from the first piece of early data until the handshake is complete. The client's
    /// identity is that of the resumed session. Since early data may be a replay, it does not prove
    /// that the client is present. RFC 9846 8
    #[must_use]
    pub fn early_info(&mut self) -> Option<&ConnectionInfo> {
        self.driver()?.early_info()
    }

    /// Server: returns the sender of data before the client's Finished. The client is not yet
    /// authenticated. RFC 9846 4.5.3
    pub fn half_rtt_sender(&mut self) -> Option<&mut Sender> {
        self.driver()?.sender(Window::HalfRtt)
    }
}

debug_fields!(Handshake: pending);
