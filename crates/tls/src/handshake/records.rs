//! The records of a handshake on its way: opened for the coroutine, sealed for it, under the keys of the moment.
//!
//! The driver lends them to the coroutine while it runs, so that what it orders is done at once.
//! Must not know: what the messages say, when a coroutine runs. Next: [`super::driver`], [`super::flow`].

use std::sync::Arc;

use tercel_wire::{AlertDescription, AlertLevel, ContentType, ProtocolVersion};

use super::established::Established;
use super::flow::{Command, Wanted};
use super::record_limits::RecordLimits;
use crate::config::policy::Side;
use crate::connection::Connection;
use crate::connection::authentication::Authentication;
use crate::connection::authentication::client::Answering;
use crate::connection::authentication::requester::CertificateRequester;
use crate::connection::buffer::Received;
use crate::connection::facts::Facts;
use crate::connection::link::{Link, ReadKeys, WriteKeys};
use crate::connection::post_handshake::{self, PostHandshake};
use crate::connection::receiver::Receiver;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse, Peer};
use crate::keys::direction::{Keys, NewKeys};
use crate::record::frame::Expect;
use crate::record::joiner::{Joiner, Message};
use crate::record::limits;
use crate::record::opener::Opener;
use crate::record::sealer::Sealer;
use crate::session::stored::StoredSession;

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

/// What [`Records::feed`] got.
pub(crate) enum Fed {
    Message(Message),
    ChangeCipherSpec,
    EarlyData(Vec<u8>),
    NotYet,
}

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
            self.out.reserve(FLIGHT);
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
    pub(crate) fn send_flight(&mut self) -> Result<(), Error> {
        let Some(start) = self.begun.take() else { return Ok(()) };
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
        let content = [AlertLevel::FATAL.0, alert.0];
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

    /// Gets what the coroutine waits for out of the records received.
    pub(crate) fn feed(
        &mut self,
        wanted: Option<Wanted>,
        received: &mut Received,
    ) -> Result<Fed, Error> {
        loop {
            if wanted == Some(Wanted::Message) {
                if let Some(message) = self.joiner.next()? {
                    return Ok(Fed::Message(message));
                }
            } else if !self.joiner.is_empty() {
                return Err(Peer::ExcessHandshakeData.into());
            }
            let Some(frame) = self.opener.frame(received.unread())? else { return Ok(Fed::NotYet) };
            let record = received.take(frame.total);
            let Some(opened) = self.opener.open(frame, record)? else {
                // Also a record that is passed over may not split a message. RFC 9846 5.1
                if !self.joiner.is_empty() {
                    return Err(Peer::InterruptedHandshakeMessage.into());
                }
                continue;
            };
            let content = record.get(opened.plaintext).unwrap_or_default();
            match opened.content_type {
                // Where a change_cipher_spec must come, no message may. RFC 5246 7.1
                ContentType::HANDSHAKE
                    if wanted != Some(Wanted::Message) && !content.is_empty() =>
                {
                    return Err(Peer::UnexpectedRecord.into());
                }
                ContentType::HANDSHAKE => {
                    // Only what carries something ends a row of warnings.
                    if !content.is_empty() {
                        self.warnings_in_a_row = 0;
                    }
                    if let Some(message) = self.joiner.pass_short(content)? {
                        return Ok(Fed::Message(message));
                    }
                    self.joiner.push(content);
                }
                ContentType::ALERT => self.received_alert(content)?,
                ContentType::CHANGE_CIPHER_SPEC => {
                    if self.received_change_cipher_spec(wanted, content)? {
                        return Ok(Fed::ChangeCipherSpec);
                    }
                }
                ContentType::APPLICATION_DATA if self.early_data_left.is_some() => {
                    let bytes = content.to_vec();
                    if let Some(bytes) = self.received_early_data(bytes)? {
                        return Ok(Fed::EarlyData(bytes));
                    }
                }
                _ => return Err(Peer::UnexpectedRecord.into()),
            }
        }
    }

    /// Early data is counted; more than was allowed is an error. RFC 9846 4.3.10
    fn received_early_data(&mut self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        if !self.joiner.is_empty() {
            return Err(Peer::InterruptedHandshakeMessage.into());
        }
        let left = self.early_data_left.unwrap_or_default().checked_sub(bytes.len());
        self.early_data_left = Some(left.ok_or(Peer::TooMuchEarlyData)?);
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    fn received_alert(&mut self, content: &[u8]) -> Result<(), Error> {
        let version = self.version.unwrap_or(ProtocolVersion::TLS1_2);
        let (level, description) = post_handshake::read_alert(content, version)?;
        if description == AlertDescription::CLOSE_NOTIFY {
            return Err(Error::ClosedInHandshake);
        }
        post_handshake::ignorable(level, description, version, &mut self.warnings_in_a_row)
            .inspect_err(|_| self.forget_session())?;
        // What ends nothing may not split a message either. RFC 9846 5.1
        if self.joiner.is_empty() { Ok(()) } else { Err(Peer::InterruptedHandshakeMessage.into()) }
    }

    /// `true` if a TLS 1.2 handshake waited for it; the ones of TLS 1.3 mean nothing. RFC 9846 5
    fn received_change_cipher_spec(
        &mut self,
        wanted: Option<Wanted>,
        content: &[u8],
    ) -> Result<bool, Error> {
        if content != [1] {
            return Err(Peer::BadChangeCipherSpec.into());
        }
        if !self.joiner.is_empty() {
            return Err(Peer::InterruptedHandshakeMessage.into());
        }
        if wanted == Some(Wanted::ChangeCipherSpec) {
            return Ok(true);
        }
        if self.version != Some(ProtocolVersion::TLS1_3) {
            return Err(Peer::UnexpectedRecord.into());
        }
        self.change_cipher_specs = self.change_cipher_specs.saturating_add(1);
        if self.change_cipher_specs > limits::MAX_CHANGE_CIPHER_SPECS {
            return Err(Peer::TooManyChangeCipherSpecs.into());
        }
        Ok(false)
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
