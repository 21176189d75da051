//! A peer that runs the real protocol, and sends records that a script has changed.
//!
//! The peer runs the crate's own coroutine, so it has the right keys at every point of a handshake.
//! Each send command of the coroutine passes through a script that may drop, repeat or add records.

use tercel_wire::{AlertDescription, AlertLevel, ContentType, HandshakeType, ProtocolVersion};

use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::error::Error;
use crate::handshake::question::{Answer, Question};
use crate::handshake::runtime::command::{Command, Wanted};
use crate::handshake::runtime::mailbox::{Mailbox, RecordedOutput, Transport};
use crate::handshake::task::Task;
use crate::handshake::{Handshake, Next};
use crate::record::frame::RecordVersion;
use crate::record::joiner::Joiner;
use crate::record::opener::Opener;
use crate::record::protection::Construction;
use crate::record::sealer::Sealer;

/// A record that a scripted peer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// A record of this type and content, under the current keys.
    Sealed(ContentType, Vec<u8>),
    /// A record of this type without content, padded with this many zeros in TLS 1.3.
    Empty(ContentType, usize),
    /// A record in which one bit of the byte at this position is changed after sealing.
    Corrupted(ContentType, Vec<u8>, usize),
    /// These bytes, unprotected.
    Raw(Vec<u8>),
}

/// A script: maps a position in the sequence, and the record due there, to the records that are
/// sent instead.
pub(super) type Script<'s> = Box<dyn FnMut(usize, Outgoing) -> Vec<Outgoing> + 's>;

pub(super) struct ScriptedPeer<'s> {
    running: Task,
    mailbox: Option<Box<Mailbox>>,
    script: Script<'s>,
    sealer: Sealer,
    opener: Opener,
    joiner: Joiner,
    ended: bool,
    change_cipher_spec: bool,
    /// The records that the protocol produces, in order, before the script changes them.
    pub(super) original_records: Vec<Outgoing>,
    pub(super) alerts: Vec<AlertDescription>,
}

/// The result of the tested side.
#[derive(Debug)]
pub(super) enum Outcome {
    Connected(Box<Connection>),
    /// The tested side failed, and sent the alert of its error.
    Failed(Error),
    /// The tested side waits for input.
    Waits,
}

impl<'s> ScriptedPeer<'s> {
    /// A scripted peer for this handshake.
    pub(super) fn new(running: Task, script: Script<'s>) -> Self {
        Self {
            running,
            mailbox: Some(Box::new(Mailbox::new(Transport::Recorded(RecordedOutput::default())))),
            script,
            sealer: Sealer::new(),
            opener: Opener::new(),
            joiner: Joiner::default(),
            ended: false,
            change_cipher_spec: false,
            original_records: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// Runs against `tested` until neither side makes progress.
    pub(super) fn run(&mut self, mut tested: Handshake) -> Outcome {
        self.run_with_answers(&mut tested, |question| {
            panic!("no question was configured: {question:?}")
        })
    }

    /// Like [`Self::run`], for a side that asks questions.
    pub(super) fn run_with_answers(
        &mut self,
        tested: &mut Handshake,
        mut answer: impl FnMut(&Question) -> Answer,
    ) -> Outcome {
        let (mut to_peer, mut to_tested) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        // This is far more than the number of flights of any handshake.
        for _ in 0..30 {
            let mut out = Vec::new();
            self.advance(&mut to_peer, &mut out);
            let quiet = out.is_empty();
            to_tested.extend(&out);
            out.clear();
            let step = loop {
                match tested.advance(&mut to_tested, &mut out) {
                    Ok(Next::Answer(question)) => tested.answer(answer(&question)).unwrap(),
                    step => break step,
                }
            };
            to_peer.extend(&out);
            match step {
                Ok(Next::Connected(connection)) => {
                    self.advance(&mut to_peer, &mut out);
                    return Outcome::Connected(connection);
                }
                Ok(Next::Receive) if quiet && out.is_empty() => return Outcome::Waits,
                Ok(Next::Receive) => {}
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    // The peer may have to process a flight before it has the keys under which the
                    // alert is sent.
                    self.advance(&mut to_peer, &mut Vec::new());
                    self.read(&mut to_peer);
                    let expected = match error {
                        // RFC 5246 7.2.1, RFC 9846 6.1
                        Error::ClosedInHandshake => Some(AlertDescription::CLOSE_NOTIFY),
                        error => error.alert(),
                    };
                    assert_eq!(self.alerts.last().copied(), expected, "{error:?}");
                    return Outcome::Failed(error);
                }
            }
        }
        panic!("the handshake does not end");
    }

    /// Writes one record under the current keys.
    pub(super) fn write(&mut self, outgoing: &Outgoing, out: &mut Vec<u8>) {
        match outgoing {
            Outgoing::Raw(bytes) => out.extend_from_slice(bytes),
            Outgoing::Sealed(ContentType::CHANGE_CIPHER_SPEC, content) => {
                let kind = ContentType::CHANGE_CIPHER_SPEC;
                Sealer::new().seal_to(kind, content, out).unwrap();
            }
            Outgoing::Corrupted(kind, content, byte) => {
                let start = out.len();
                self.sealer.seal_to(*kind, content, out).unwrap();
                out[start + byte] ^= 1 << (byte % 8);
            }
            Outgoing::Empty(kind, padding) => self.write_empty(*kind, *padding, out),
            Outgoing::Sealed(kind, content) => self.sealer.seal_to(*kind, content, out).unwrap(),
        }
    }

    /// Writes a record without content, which the crate's sealer never writes.
    fn write_empty(&mut self, kind: ContentType, padding: usize, out: &mut Vec<u8>) {
        let Some(protection) = self.sealer.protection.as_mut() else {
            return out.extend_from_slice(&[kind.0, 3, 3, 0, 0]);
        };
        let tls13 = protection.construction() == Construction::Tls13;
        let inner = if tls13 { [vec![kind.0], vec![0; padding]].concat() } else { Vec::new() };
        let outer = if tls13 { ContentType::APPLICATION_DATA } else { kind };
        let length = protection.overhead() - usize::from(tls13) + inner.len();
        let [.., high, low] = length.to_be_bytes();
        let mut record = vec![outer.0, 3, 3, high, low];
        record.resize(5 + length, 0);
        protection.seal(kind, &[], &inner, &mut record).unwrap();
        out.extend(record);
    }

    pub(super) fn advance(&mut self, received: &mut ReceiveBuffer, out: &mut Vec<u8>) {
        while !self.ended {
            self.ended = self.running.resume(&mut self.mailbox).is_some();
            let Transport::Recorded(output) = &mut self.mailbox().transport else { return };
            let output = core::mem::take(output);
            self.execute(output, out);
            if !self.ended && !self.feed(received) {
                return;
            }
        }
        self.read(received);
    }

    /// Reads records until the coroutine has received its input.
    fn feed(&mut self, received: &mut ReceiveBuffer) -> bool {
        loop {
            let wanted = self.mailbox().wanted;
            if wanted == Some(Wanted::Message) {
                if let Ok(Some(message)) = self.joiner.next() {
                    self.mailbox().message = Some(message);
                    return true;
                }
            }
            if wanted == Some(Wanted::ChangeCipherSpec)
                && core::mem::take(&mut self.change_cipher_spec)
            {
                self.mailbox().change_cipher_spec = true;
                return true;
            }
            if !self.read_one(received) {
                return false;
            }
        }
    }

    fn mailbox(&mut self) -> &mut Mailbox {
        self.mailbox.as_mut().unwrap()
    }

    pub(super) fn read(&mut self, received: &mut ReceiveBuffer) {
        while self.read_one(received) {}
    }

    fn read_one(&mut self, received: &mut ReceiveBuffer) -> bool {
        let Ok(Some(frame)) = self.opener.frame(received.unread()) else { return false };
        let record = received.take(frame.total);
        let Ok(Some(opened)) = self.opener.open(frame, record) else { return true };
        let content = &record[opened.plaintext];
        match opened.content_type {
            ContentType::HANDSHAKE => self.joiner.push(content),
            ContentType::CHANGE_CIPHER_SPEC => self.change_cipher_spec = true,
            ContentType::ALERT => self.read_alert(content),
            other => panic!("the tested side sent {other:?}"),
        }
        true
    }

    /// An alert must have the right level. RFC 5246 7.2.1, 7.2.2
    pub(super) fn read_alert(&mut self, content: &[u8]) {
        let &[level, alert] = content else { panic!("an alert of {} bytes", content.len()) };
        let alert = AlertDescription(alert);
        let warnings = [AlertDescription::CLOSE_NOTIFY, AlertDescription::NO_RENEGOTIATION];
        let level_due =
            if warnings.contains(&alert) { AlertLevel::WARNING } else { AlertLevel::FATAL };
        assert_eq!(AlertLevel(level), level_due, "{alert:?}");
        self.alerts.push(alert);
    }

    fn execute(&mut self, RecordedOutput { commands, flight }: RecordedOutput, out: &mut Vec<u8>) {
        for (flight, command) in commands {
            self.send_each(&flight, out);
            match command {
                Command::SendChangeCipherSpec => {
                    self.send(Outgoing::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![1]), out);
                }
                Command::Negotiated(version) => {
                    let tls13 = version == ProtocolVersion::TLS1_3;
                    self.opener.version =
                        if tls13 { RecordVersion::Tls13 } else { RecordVersion::Tls12 };
                }
                Command::InstallWrite(keys) => {
                    self.sealer.protection = Some(keys.keys().protection().unwrap());
                }
                Command::InstallRead(keys) => {
                    self.opener.install(keys.keys().protection().unwrap());
                    // A tested side that cannot read the last message sends its alert under older
                    // keys, or in plaintext.
                    if keys.keys().is_tls13() {
                        self.opener.plain_alert = true;
                    }
                }
                // The other commands (sizes, early data) do not affect the order of messages.
                _ => {}
            }
        }
        self.send_each(&flight, out);
    }

    fn send_each(&mut self, flight: &[u8], out: &mut Vec<u8>) {
        for message in messages(flight) {
            self.send(Outgoing::Sealed(ContentType::HANDSHAKE, message.to_vec()), out);
        }
    }

    fn send(&mut self, due: Outgoing, out: &mut Vec<u8>) {
        let place = self.original_records.len();
        self.original_records.push(due.clone());
        for outgoing in (self.script)(place, due) {
            self.write(&outgoing, out);
        }
    }
}

impl Outgoing {
    /// A handshake message in its own record.
    pub(super) fn message(kind: HandshakeType, body: &[u8]) -> Self {
        let [_, a, b, c] = u32::try_from(body.len()).unwrap().to_be_bytes();
        Self::Sealed(ContentType::HANDSHAKE, [&[kind.0, a, b, c], body].concat())
    }

    /// The type of the handshake message in this record.
    pub(super) fn kind(&self) -> Option<HandshakeType> {
        match self {
            Self::Sealed(ContentType::HANDSHAKE, message) => {
                message.first().map(|kind| HandshakeType(*kind))
            }
            _ => None,
        }
    }
}

/// The handshake messages in the content of records.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let header = bytes.first_chunk::<4>()?;
        let length = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
        let (message, rest) = bytes.split_at(length + 4);
        bytes = rest;
        Some(message)
    })
}
