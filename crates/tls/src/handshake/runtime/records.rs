//! The record layer of a handshake: opens received records, and protects the messages that the
//! coroutine sends.
//!
//! The coroutine owns the record layer while it runs, so that commands take effect immediately.

mod reading;

use std::sync::Arc;

use tercel_wire::{AlertDescription, AlertLevel, ContentType, ProtocolVersion};

use super::command::Command;
use super::established::Established;
use super::record_limits::RecordLimits;
use crate::connection::Connection;
use crate::connection::info::ConnectionInfo;
use crate::connection::link::{Link, ReadKeys, WriteKeys};
use crate::connection::post_handshake::PostHandshake;
use crate::connection::post_handshake_auth::Authentication;
use crate::connection::post_handshake_auth::client::ReceivedRequests;
use crate::connection::post_handshake_auth::requester::CertificateRequester;
use crate::connection::receiver::Receiver;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse, PeerError};
use crate::keys::direction::{Keys, NewKeys};
use crate::message_tap::TapCell;
use crate::record::frame::RecordVersion;
use crate::record::joiner::Joiner;
use crate::record::opener::Opener;
use crate::record::sealer::Sealer;
use crate::resumption::session::invalidation::StoredSession;
use crate::side::Side;

pub(crate) use reading::Input;

/// The sending and the receiving direction of a handshake. They become the sender and the receiver
/// of the connection.
pub(crate) struct Records {
    side: Side,
    version: Option<ProtocolVersion>,
    /// The sender, which is moved to the connection like the read keys.
    sender: Option<Sender>,
    opener: Opener,
    joiner: Joiner,
    read_keys: Option<ReadKeys>,
    /// Server: the number of bytes of early data that may still arrive.
    early_data_left: Option<usize>,
    /// Server: the negotiated parameters, while early data may arrive.
    early_info: Option<Box<ConnectionInfo>>,
    /// The data that the application may send now.
    window: Window,
    change_cipher_specs: u8,
    warnings_in_a_row: u8,
    /// Whether a protected record of the peer was opened.
    has_opened_protected: bool,
    /// The session that a fatal alert has invalidated.
    invalidated: Option<Arc<StoredSession>>,
    /// The caller's output buffer, while the coroutine runs.
    out: Vec<u8>,
    /// The position in `out` of the record that is not protected yet. This record consists of a
    /// header and the messages of the flight so far. The messages of a flight share records.
    open_record: Option<usize>,
}

/// The data that an application may send during a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Nothing,
    /// Client: early data.
    Early,
    /// Server: data that is sent before the client's Finished.
    HalfRtt,
}

/// The number of bytes that most flights need.
const FLIGHT: usize = 4096;

/// The number of bytes that a flight without certificates needs.
const SHORT_FLIGHT: usize = 512;

impl Records {
    pub(crate) fn new(side: Side) -> Self {
        let mut sealer = Sealer::new();
        if side == Side::Client {
            // The record of a first ClientHello has version 3.1, for old servers. RFC 9846 5.1
            sealer.version = [3, 1];
        }
        let link = Link::default();
        Self {
            side,
            version: None,
            sender: Some(Sender::new(sealer, ProtocolVersion::TLS1_2, WriteKeys::on(&link))),
            opener: Opener::new(),
            joiner: Joiner::default(),
            read_keys: Some(ReadKeys::on(&link)),
            early_data_left: None,
            early_info: None,
            window: Window::Nothing,
            change_cipher_specs: 0,
            warnings_in_a_row: 0,
            has_opened_protected: false,
            invalidated: None,
            out: Vec::new(),
            open_record: None,
        }
    }

    /// Swaps the output buffer with the caller's.
    pub(crate) fn swap_out(&mut self, out: &mut Vec<u8>) {
        core::mem::swap(&mut self.out, out);
    }

    /// Returns the buffer that collects the messages of a flight. They are protected in place.
    pub(crate) fn flight(&mut self) -> Result<&mut Vec<u8>, Error> {
        if self.open_record.is_none() {
            // The buffer is not grown if it has space for a short flight, such as a Finished.
            if self.out.capacity().saturating_sub(self.out.len()) < SHORT_FLIGHT {
                self.out.reserve(FLIGHT);
            }
            self.open_record =
                Some(sender_mut(&mut self.sender)?.sealer()?.begin_record(&mut self.out));
        }
        Ok(&mut self.out)
    }

    /// Carries out a command, after sending the messages before it.
    pub(crate) fn execute(&mut self, command: Command) -> Result<(), Error> {
        self.send_flight()?;
        match command {
            Command::SendChangeCipherSpec => {
                let sealer = sender_mut(&mut self.sender)?.sealer()?;
                sealer.seal_to(ContentType::CHANGE_CIPHER_SPEC, &[1], &mut self.out)?;
                self.tap(|tap| tap.sent(ContentType::CHANGE_CIPHER_SPEC, &[1]));
            }
            Command::Negotiated(version) => self.negotiated(version),
            Command::InstallWrite(keys) => self.install_write(keys)?,
            Command::InstallRead(keys) => self.install_read(keys)?,
            Command::RecordLimits(RecordLimits { read, write }) => {
                if let Some(bytes) = read {
                    self.opener.max_plaintext = bytes;
                }
                sender_mut(&mut self.sender)?.sealer()?.set_max_fragment(write);
            }
            Command::ReadEarlyData { secret, limit, info } => {
                self.install_read(Keys::Tls13(secret).into())?;
                self.early_info = Some(info);
                self.early_data_left = Some(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            Command::WriteEarlyData { secret, limit } => {
                sender_mut(&mut self.sender)?.install(Keys::Tls13(secret).into())?;
                sender_mut(&mut self.sender)?.allowance = Some(limit);
                self.window = Window::Early;
            }
            Command::AbandonEarlyData => {
                sender_mut(&mut self.sender)?.remove_key();
                self.window = Window::Nothing;
            }
            #[cfg(feature = "quic")]
            Command::ReadKeysInAdvance(_) => {}
            Command::HalfRtt => self.window = Window::HalfRtt,
            Command::SkipEarlyData { limit } => self.opener.skip = Some(limit),
            Command::StopSkippingEarlyData => self.opener.skip = None,
            Command::Padding(padding) => {
                sender_mut(&mut self.sender)?.sealer()?.padding = padding;
            }
        }
        Ok(())
    }

    /// Protects the messages of the flight.
    #[inline]
    pub(crate) fn send_flight(&mut self) -> Result<(), Error> {
        match self.open_record.take() {
            None => Ok(()),
            Some(start) => self.end_flight(start),
        }
    }

    fn end_flight(&mut self, start: usize) -> Result<(), Error> {
        let sent = self.seal_flight(start);
        if sent.is_err() {
            // Unprotected messages must not be sent.
            self.out.truncate(start);
        }
        sent
    }

    fn seal_flight(&mut self, start: usize) -> Result<(), Error> {
        self.check_turn()?;
        let sealer = sender_mut(&mut self.sender)?.sealer()?;
        sealer.finish_record(ContentType::HANDSHAKE, start, &mut self.out)?;
        sealer.version = [3, 3];
        Ok(())
    }

    /// Protects these messages, after those of the flight.
    pub(crate) fn send(&mut self, messages: &[u8]) -> Result<(), Error> {
        self.send_flight()?;
        self.check_turn()?;
        let sealer = sender_mut(&mut self.sender)?.sealer()?;
        sealer.seal_to(ContentType::HANDSHAKE, messages, &mut self.out)?;
        sealer.version = [3, 3];
        self.tap(|tap| tap.sent_messages(messages));
        Ok(())
    }

    /// Sets the tap of the messages.
    #[cfg(feature = "message-tap")]
    pub(crate) fn set_message_tap(&self, tap: Arc<dyn crate::message_tap::MessageTap>) {
        self.tap(|cell| cell.set(tap));
    }

    /// Calls `body` with the tap, until the connection is made.
    #[inline(always)]
    pub(super) fn tap(&self, body: impl FnOnce(&TapCell)) {
        if let Some(sender) = &self.sender {
            body(sender.link().tap());
        }
    }

    /// Shows the tap the message at this position of the flight, which ends there.
    #[inline(always)]
    pub(super) fn tap_flight(&self, start: usize) {
        self.tap(|tap| tap.sent(ContentType::HANDSHAKE, self.out.get(start..).unwrap_or_default()));
    }

    /// Checks that no message of the peer is pending: the peer must not send messages of its next
    /// flight before it has received this side's flight. RFC 9846 2, RFC 5246 7.3
    fn check_turn(&self) -> Result<(), Error> {
        if self.joiner.is_empty() { Ok(()) } else { Err(PeerError::ExcessHandshakeData.into()) }
    }

    /// Sends a fatal alert, which ends the handshake.
    pub(crate) fn alert(&mut self, alert: AlertDescription, out: &mut Vec<u8>) {
        self.invalidate_session();
        self.last_alert(AlertLevel::FATAL, alert, out);
    }

    /// Answers the peer's close_notify, which ends the handshake.
    pub(crate) fn close_notify(&mut self, out: &mut Vec<u8>) {
        self.last_alert(AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY, out);
    }

    fn last_alert(&mut self, level: AlertLevel, alert: AlertDescription, out: &mut Vec<u8>) {
        let content = [level.0, alert.0];
        self.tap(|tap| tap.sent_alert(level, alert));
        // If the alert cannot be protected, it is not sent, and no other action is possible.
        let sealer = sender_mut(&mut self.sender).and_then(Sender::sealer);
        let _ = sealer.and_then(|sealer| sealer.seal_to(ContentType::ALERT, &content, out));
    }

    /// Returns the negotiated parameters, while a client's early data is read.
    pub(crate) fn early_info(&self) -> Option<&ConnectionInfo> {
        self.early_info.as_deref()
    }

    /// Returns the sender, if the application may use it now.
    pub(crate) fn sender(&mut self, window: Window) -> Option<&mut Sender> {
        self.sender.as_mut().filter(|_| self.window == window)
    }

    fn negotiated(&mut self, version: ProtocolVersion) {
        self.version = Some(version);
        let tls13 = version == ProtocolVersion::TLS1_3;
        self.opener.version = if tls13 { RecordVersion::Tls13 } else { RecordVersion::Tls12 };
    }

    fn install_write(&mut self, keys: NewKeys) -> Result<(), Error> {
        self.window = Window::Nothing;
        sender_mut(&mut self.sender)?.install(keys)
    }

    /// Installs the keys for received records. A message must not span a change of keys.
    /// RFC 9846 5.1
    fn install_read(&mut self, keys: NewKeys) -> Result<(), Error> {
        if !self.joiner.is_empty() {
            return Err(PeerError::ExcessHandshakeData.into());
        }
        self.early_data_left = None;
        keys.replace(&mut self.opener.protection)?;
        let keys = keys.into_keys();
        let place = self.read_keys.as_ref().ok_or(Misuse::HandshakeEnded)?;
        self.opener.plain_alert =
            keys.is_tls13() && self.side == Side::Server && place.get().is_none();
        place.put(keys);
        Ok(())
    }

    /// Removes the session from its store if the handshake, or the connection that follows, ends
    /// with a fatal alert. RFC 5246 7.2.2
    pub(crate) fn invalidate_on_alert(&mut self, session: Arc<StoredSession>) -> Result<(), Error> {
        sender_mut(&mut self.sender)?.link().invalidate_on_alert(session);
        Ok(())
    }

    /// Invalidates the session, because of a fatal alert. A server does so only if the client has
    /// proved that it has the session's key: its handshake has no other protected records while
    /// there is a session to invalidate. RFC 5246 7.2.2
    fn invalidate_session(&mut self) {
        if self.side == Side::Server && !self.has_opened_protected {
            return;
        }
        if let Some(sender) = &self.sender {
            self.invalidated = sender.link().invalidate_session();
        }
    }

    /// Returns the session that a fatal alert has invalidated.
    pub(crate) fn take_invalidated(&mut self) -> Option<Arc<StoredSession>> {
        self.invalidated.take()
    }

    /// Creates the connection, after protecting the last messages.
    pub(crate) fn connect(&mut self, established: Established) -> Result<Connection, Error> {
        self.send_flight()?;
        // Further messages are not part of the handshake. RFC 5246 7.4.9
        if !self.joiner.is_empty() {
            return Err(PeerError::ExcessHandshakeData.into());
        }
        let version = established.info.version;
        let over = Misuse::HandshakeEnded;
        let mut sender = self.sender.take().ok_or(over)?;
        let keys = self.read_keys.take().ok_or(over)?;
        sender.version = version;
        let link = sender.link();
        let opener = core::mem::replace(&mut self.opener, Opener::new());
        let answering = established.answering.map(|context| {
            Box::new(Authentication::Client(ReceivedRequests::new(context.with_link(link))))
        });
        let requester = established
            .requesting
            .map(|context| CertificateRequester::new(context.with_link(link)));
        let mut post =
            PostHandshake::new(self.side, version, keys, established.sessions, answering);
        post.tolerate_truncation = established.tolerate_truncation;
        Ok(Connection {
            sender,
            receiver: Receiver::new(opener, post),
            info: established.info,
            exporter: established.exporter,
            early_exporter: established.early_exporter,
            requester,
        })
    }
}

/// Returns the sender, until it is moved to the connection. The error is unreachable.
fn sender_mut(sender: &mut Option<Sender>) -> Result<&mut Sender, Error> {
    sender.as_mut().ok_or_else(|| Misuse::HandshakeEnded.into())
}
