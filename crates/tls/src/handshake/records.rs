//! The records of a handshake on its way: opened for the coroutine, sealed for it, under the keys of the moment.
//!
//! The driver lends them to the coroutine while it runs, so that what it orders is done at once.
//! Must not know: what the messages say, when a coroutine runs. Next: [`reading`], [`super::driver`], [`super::flow`].

mod reading;

use std::sync::Arc;

use tercel_wire::{AlertDescription, AlertLevel, ContentType, ProtocolVersion};

use super::established::Established;
use super::flow::Command;
use super::record_limits::RecordLimits;
use crate::config::policy::Side;
use crate::connection::Connection;
use crate::connection::authentication::Authentication;
use crate::connection::authentication::client::Answering;
use crate::connection::authentication::requester::CertificateRequester;
use crate::connection::facts::Facts;
use crate::connection::link::{Link, ReadKeys, WriteKeys};
use crate::connection::post_handshake::PostHandshake;
use crate::connection::receiver::Receiver;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse, Peer};
use crate::keys::direction::{Keys, NewKeys};
use crate::record::frame::Expect;
use crate::record::joiner::Joiner;
use crate::record::opener::Opener;
use crate::record::sealer::Sealer;
use crate::session::stored::StoredSession;
pub(crate) use reading::Fed;

/// Both directions, until they become a connection's.
pub(crate) struct Records {
    side: Side,
    version: Option<ProtocolVersion>,
    /// This and the keys become the connection's.
    sender: Option<Sender>,
    opener: Opener,
    joiner: Joiner,
    read_keys: Option<ReadKeys>,
    /// Server: bytes of early data that may still come.
    early_data_left: Option<usize>,
    /// Server: what was agreed, while early data may come.
    early_facts: Option<Box<Facts>>,
    /// Whether the application may send before the handshake is complete.
    window: Window,
    change_cipher_specs: u8,
    warnings_in_a_row: u8,
    /// While the coroutine runs, the caller's buffer.
    out: Vec<u8>,
    /// Where in it a record begins that is not sealed yet: behind its header are the messages sent last, for those of
    /// one flight share records.
    begun: Option<usize>,
}

/// What an application may send while the handshake goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Nothing,
    /// Client: early data.
    Early,
    /// Server: data ahead of the client's Finished.
    HalfRtt,
}

/// Room for most flights.
const FLIGHT: usize = 4096;

/// Room for a flight without certificates.
const SHORT_FLIGHT: usize = 512;

impl Records {
    pub(crate) fn new(side: Side) -> Self {
        let mut sealer = Sealer::new();
        if side == Side::Client {
            // A first ClientHello may say 3.1, for the sake of old servers. RFC 9846 5.1
            sealer.set_header_version([3, 1]);
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
            early_facts: None,
            window: Window::Nothing,
            change_cipher_specs: 0,
            warnings_in_a_row: 0,
            out: Vec::new(),
            begun: None,
        }
    }

    /// Changes the buffer that is written to.
    pub(crate) fn swap_out(&mut self, out: &mut Vec<u8>) {
        core::mem::swap(&mut self.out, out);
    }

    /// Where the messages of a flight are gathered: they will be sealed where they are.
    pub(crate) fn flight(&mut self) -> Result<&mut Vec<u8>, Error> {
        if self.begun.is_none() {
            // A buffer with room for a Finished need not grow for it.
            if self.out.capacity().saturating_sub(self.out.len()) < SHORT_FLIGHT {
                self.out.reserve(FLIGHT);
            }
            self.begun = Some(at_hand(&mut self.sender)?.sealer()?.begin(&mut self.out));
        }
        Ok(&mut self.out)
    }

    /// Does what a coroutine orders, after what it has sent.
    pub(crate) fn carry_out(&mut self, command: Command) -> Result<(), Error> {
        self.send_flight()?;
        match command {
            Command::SendChangeCipherSpec => {
                let sealer = at_hand(&mut self.sender)?.sealer()?;
                sealer.seal_to(ContentType::CHANGE_CIPHER_SPEC, &[1], &mut self.out)?;
            }
            Command::Negotiated(version) => self.negotiated(version),
            Command::InstallWrite(keys) => self.install_write(keys)?,
            Command::InstallRead(keys) => self.install_read(keys)?,
            Command::RecordLimits(RecordLimits { read, write }) => {
                if let Some(bytes) = read {
                    self.opener.set_max_plaintext(bytes);
                }
                if let Some(bytes) = write {
                    at_hand(&mut self.sender)?.sealer()?.set_max_fragment(bytes);
                }
            }
            Command::ReadEarlyData { limit, facts } => {
                self.early_facts = Some(facts);
                self.early_data_left = Some(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            Command::WriteEarlyData { secret, limit } => {
                at_hand(&mut self.sender)?.install(Keys::Tls13(secret).into())?;
                at_hand(&mut self.sender)?.limit_to(limit);
                self.window = Window::Early;
            }
            Command::AbandonEarlyData => {
                at_hand(&mut self.sender)?.abandon_key();
                self.window = Window::Nothing;
            }
            Command::HalfRtt => self.window = Window::HalfRtt,
            Command::SkipEarlyData { limit } => self.opener.skip_early_data(limit),
            Command::StopSkippingEarlyData => self.opener.stop_skipping(),
            Command::Padding(padding) => at_hand(&mut self.sender)?.sealer()?.set_padding(padding),
        }
        Ok(())
    }

    /// Puts the messages gathered into records.
    #[inline]
    pub(crate) fn send_flight(&mut self) -> Result<(), Error> {
        match self.begun.take() {
            None => Ok(()),
            Some(start) => self.end_flight(start),
        }
    }

    fn end_flight(&mut self, start: usize) -> Result<(), Error> {
        let sent = self.seal_flight(start);
        if sent.is_err() {
            // What is not sealed must not leave.
            self.out.truncate(start);
        }
        sent
    }

    fn seal_flight(&mut self, start: usize) -> Result<(), Error> {
        self.check_turn()?;
        let sealer = at_hand(&mut self.sender)?.sealer()?;
        sealer.seal_begun(ContentType::HANDSHAKE, start, &mut self.out)?;
        sealer.set_header_version([3, 3]);
        Ok(())
    }

    /// Puts messages into records, behind those gathered.
    pub(crate) fn send(&mut self, messages: &[u8]) -> Result<(), Error> {
        self.send_flight()?;
        self.check_turn()?;
        let sealer = at_hand(&mut self.sender)?.sealer()?;
        sealer.seal_to(ContentType::HANDSHAKE, messages, &mut self.out)?;
        sealer.set_header_version([3, 3]);
        Ok(())
    }

    /// The peer has nothing to say before it has what we send: what waits is out of turn. RFC 9846 2, RFC 5246 7.3
    fn check_turn(&self) -> Result<(), Error> {
        if self.joiner.is_empty() { Ok(()) } else { Err(Peer::ExcessHandshakeData.into()) }
    }

    /// Seals a fatal alert as the last thing this handshake says.
    pub(crate) fn alert(&mut self, alert: AlertDescription, out: &mut Vec<u8>) {
        self.forget_session();
        self.last_alert(AlertLevel::FATAL, alert, out);
    }

    /// Seals the answer to the peer's close_notify as the last thing this handshake says.
    pub(crate) fn close_notify(&mut self, out: &mut Vec<u8>) {
        self.last_alert(AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY, out);
    }

    fn last_alert(&mut self, level: AlertLevel, alert: AlertDescription, out: &mut Vec<u8>) {
        let content = [level.0, alert.0];
        // An alert that cannot be sealed is an alert that is not sent: there is no one left to tell.
        let sealer = at_hand(&mut self.sender).and_then(Sender::sealer);
        let _ = sealer.and_then(|sealer| sealer.seal_to(ContentType::ALERT, &content, out));
    }

    /// What was agreed with a client whose early data is being read.
    pub(crate) fn early_facts(&self) -> Option<&Facts> {
        self.early_facts.as_deref()
    }

    /// What an application may send through, if it may now.
    pub(crate) fn sender(&mut self, window: Window) -> Option<&mut Sender> {
        self.sender.as_mut().filter(|_| self.window == window)
    }

    fn negotiated(&mut self, version: ProtocolVersion) {
        self.version = Some(version);
        let tls13 = version == ProtocolVersion::TLS1_3;
        self.opener.expect(if tls13 { Expect::Tls13 } else { Expect::Tls12 });
    }

    fn install_write(&mut self, keys: NewKeys) -> Result<(), Error> {
        self.window = Window::Nothing;
        at_hand(&mut self.sender)?.install(keys)
    }

    /// A message may not lie across a change of keys. RFC 9846 5.1
    fn install_read(&mut self, keys: NewKeys) -> Result<(), Error> {
        if !self.joiner.is_empty() {
            return Err(Peer::ExcessHandshakeData.into());
        }
        self.early_data_left = None;
        self.opener.replace(|place| keys.replace(place))?;
        let keys = keys.into_keys();
        let place = self.read_keys.as_ref().ok_or(Misuse::HandshakeOver)?;
        if keys.is_tls13() && self.side == Side::Server && place.get().is_none() {
            self.opener.expect_plain_alert();
        }
        place.put(keys);
        Ok(())
    }

    /// Has the session forgotten if this ends with a fatal alert, also once it is a connection. RFC 5246 7.2.2
    pub(crate) fn forget_on_alert(&mut self, session: Arc<StoredSession>) -> Result<(), Error> {
        at_hand(&mut self.sender)?.link().forget_on_alert(session);
        Ok(())
    }

    /// Any connection that ends with a fatal alert takes its session along. RFC 5246 7.2.2
    fn forget_session(&self) {
        if let Some(sender) = &self.sender {
            sender.link().forget_session();
        }
    }

    /// What is left of the handshake becomes the connection, once the last message is in its record.
    pub(crate) fn connect(&mut self, established: Established) -> Result<Connection, Error> {
        self.send_flight()?;
        // What follows the last message of a handshake is not part of it. RFC 5246 7.4.9
        if !self.joiner.is_empty() {
            return Err(Peer::ExcessHandshakeData.into());
        }
        let version = established.facts.version;
        let over = Misuse::HandshakeOver;
        let mut sender = self.sender.take().ok_or(over)?;
        let keys = self.read_keys.take().ok_or(over)?;
        sender.set_version(version);
        let link = sender.link();
        let opener = core::mem::replace(&mut self.opener, Opener::new());
        let answering = established
            .answering
            .map(|context| Box::new(Authentication::Answering(Answering::new(context.of(link)))));
        let requester =
            established.requesting.map(|context| CertificateRequester::new(context.of(link)));
        let mut post = PostHandshake::new(self.side, version, keys, established.tickets, answering);
        post.tolerate_truncation = established.tolerate_truncation;
        Ok(Connection {
            sender,
            receiver: Receiver::new(opener, post),
            facts: established.facts,
            exporter: established.exporter,
            early_exporter: established.early_exporter,
            requester,
        })
    }
}

/// The sender, until a connection has it; the error is for the compiler.
fn at_hand(sender: &mut Option<Sender>) -> Result<&mut Sender, Error> {
    sender.as_mut().ok_or_else(|| Misuse::HandshakeOver.into())
}
