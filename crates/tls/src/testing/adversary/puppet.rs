//! A peer that runs the real protocol and says something else.
//!
//! What it is for: standing at any point of a handshake with the right keys in hand. The coroutine is
//! the crate's own; what it orders to be sent goes through a script that may drop, repeat or add.
//! Must not know: which tricks there are. Next: [`super::order`].

use tercel_wire::{AlertDescription, AlertLevel, ContentType, HandshakeType, ProtocolVersion};

use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::error::Error;
use crate::handshake::flow::{Command, Line, Post, Script as Orders, Wanted};
use crate::handshake::running::Running;
use crate::handshake::{Handshake, Next};
use crate::record::frame::Expect;
use crate::record::joiner::Joiner;
use crate::record::opener::Opener;
use crate::record::protection::Construction;
use crate::record::sealer::Sealer;

/// What a puppet says, one record each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Say {
    /// A record of this type and content, under the keys of the moment.
    Sealed(ContentType, Vec<u8>),
    /// A record of this type without content, padded with so many zeros in TLS 1.3.
    Empty(ContentType, usize),
    /// A record with a bit of this byte changed once it is sealed.
    Bent(ContentType, Vec<u8>, usize),
    /// These bytes, as they are.
    Raw(Vec<u8>),
}

/// Given the place in the sequence and what belongs there: what to say instead.
pub(super) type Script<'s> = Box<dyn FnMut(usize, Say) -> Vec<Say> + 's>;

pub(super) struct Puppet<'s> {
    running: Running,
    post: Option<Box<Post>>,
    script: Script<'s>,
    sealer: Sealer,
    opener: Opener,
    joiner: Joiner,
    ended: bool,
    change_cipher_spec: bool,
    /// What the protocol had it say, in order, whatever was said instead.
    pub(super) said: Vec<Say>,
    pub(super) alerts: Vec<AlertDescription>,
}

/// What became of the victim.
#[derive(Debug)]
pub(super) enum Outcome {
    Connected(Box<Connection>),
    /// It failed, and sent the alert that belongs to the error.
    Failed(Error),
    /// It waits for more.
    Waits,
}

impl<'s> Puppet<'s> {
    /// A puppet of this protocol.
    pub(super) fn new(running: Running, script: Script<'s>) -> Self {
        Self {
            running,
            post: Some(Box::new(Post::new(Line::Script(Orders::default())))),
            script,
            sealer: Sealer::new(),
            opener: Opener::new(),
            joiner: Joiner::default(),
            ended: false,
            change_cipher_spec: false,
            said: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// Plays against `victim` until nothing moves any more.
    pub(super) fn play(&mut self, mut victim: Handshake) -> Outcome {
        let (mut to_puppet, mut to_victim) = (Received::new(), Received::new());
        // Far more rounds than any handshake has flights.
        for _ in 0..30 {
            let mut out = Vec::new();
            self.advance(&mut to_puppet, &mut out);
            let quiet = out.is_empty();
            to_victim.extend(&out);
            out.clear();
            let step = victim.advance(&mut to_victim, &mut out);
            to_puppet.extend(&out);
            match step {
                Ok(Next::Connected(connection)) => {
                    self.advance(&mut to_puppet, &mut out);
                    return Outcome::Connected(connection);
                }
                Ok(Next::Receive) if quiet && out.is_empty() => return Outcome::Waits,
                Ok(Next::Receive) => {}
                Ok(other) => panic!("no question was configured: {other:?}"),
                Err(error) => {
                    // The alert may stand behind a flight that brings the keys it is sealed under.
                    self.advance(&mut to_puppet, &mut Vec::new());
                    self.hear(&mut to_puppet);
                    let told = match error {
                        // RFC 5246 7.2.1, RFC 9846 6.1
                        Error::ClosedInHandshake => Some(AlertDescription::CLOSE_NOTIFY),
                        error => error.alert(),
                    };
                    assert_eq!(self.alerts.last().copied(), told, "{error:?}");
                    return Outcome::Failed(error);
                }
            }
        }
        panic!("the two talk without end");
    }

    /// Writes one record under the keys of the moment.
    pub(super) fn write(&mut self, say: &Say, out: &mut Vec<u8>) {
        match say {
            Say::Raw(bytes) => out.extend_from_slice(bytes),
            Say::Sealed(ContentType::CHANGE_CIPHER_SPEC, content) => {
                let kind = ContentType::CHANGE_CIPHER_SPEC;
                Sealer::new().seal_to(kind, content, out).unwrap();
            }
            Say::Bent(kind, content, byte) => {
                let start = out.len();
                self.sealer.seal_to(*kind, content, out).unwrap();
                out[start + byte] ^= 1 << (byte % 8);
            }
            Say::Empty(kind, padding) => self.write_empty(*kind, *padding, out),
            Say::Sealed(kind, content) => self.sealer.seal_to(*kind, content, out).unwrap(),
        }
    }

    /// Our sealer never does this.
    fn write_empty(&mut self, kind: ContentType, padding: usize, out: &mut Vec<u8>) {
        let Some(protection) = self.sealer.protection_mut() else {
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

    pub(super) fn advance(&mut self, received: &mut Received, out: &mut Vec<u8>) {
        while !self.ended {
            self.ended = self.running.resume(&mut self.post).is_some();
            let Line::Script(orders) = &mut self.post().line else { return };
            let orders = core::mem::take(orders);
            self.carry_out(orders, out);
            if !self.ended && !self.feed(received) {
                return;
            }
        }
        self.hear(received);
    }

    /// Takes in records until what the coroutine waits for is there.
    fn feed(&mut self, received: &mut Received) -> bool {
        loop {
            let wanted = self.post().wanted;
            if wanted == Some(Wanted::Message) {
                if let Ok(Some(message)) = self.joiner.next() {
                    self.post().message = Some(message);
                    return true;
                }
            }
            if wanted == Some(Wanted::ChangeCipherSpec)
                && core::mem::take(&mut self.change_cipher_spec)
            {
                self.post().change_cipher_spec = true;
                return true;
            }
            if !self.hear_one(received) {
                return false;
            }
        }
    }

    fn post(&mut self) -> &mut Post {
        self.post.as_mut().unwrap()
    }

    pub(super) fn hear(&mut self, received: &mut Received) {
        while self.hear_one(received) {}
    }

    fn hear_one(&mut self, received: &mut Received) -> bool {
        let Ok(Some(frame)) = self.opener.frame(received.unread()) else { return false };
        let record = received.take(frame.total);
        let Ok(Some(opened)) = self.opener.open(frame, record) else { return true };
        let content = &record[opened.plaintext];
        match opened.content_type {
            ContentType::HANDSHAKE => self.joiner.push(content),
            ContentType::CHANGE_CIPHER_SPEC => self.change_cipher_spec = true,
            ContentType::ALERT => self.hear_alert(content),
            other => panic!("the victim sent {other:?}"),
        }
        true
    }

    /// An alert has the level that belongs to it. RFC 5246 7.2.1, 7.2.2
    pub(super) fn hear_alert(&mut self, content: &[u8]) {
        let &[level, alert] = content else { panic!("an alert of {} bytes", content.len()) };
        let alert = AlertDescription(alert);
        let warnings = [AlertDescription::CLOSE_NOTIFY, AlertDescription::NO_RENEGOTIATION];
        let level_due =
            if warnings.contains(&alert) { AlertLevel::WARNING } else { AlertLevel::FATAL };
        assert_eq!(AlertLevel(level), level_due, "{alert:?}");
        self.alerts.push(alert);
    }

    fn carry_out(&mut self, Orders { orders, flight }: Orders, out: &mut Vec<u8>) {
        for (flight, command) in orders {
            self.say_each(&flight, out);
            match command {
                Command::SendChangeCipherSpec => {
                    self.say(Say::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![1]), out);
                }
                Command::Negotiated(version) => {
                    let tls13 = version == ProtocolVersion::TLS1_3;
                    self.opener.expect(if tls13 { Expect::Tls13 } else { Expect::Tls12 });
                }
                Command::InstallWrite(keys) => {
                    self.sealer.install(keys.keys().protection().unwrap());
                }
                Command::InstallRead(keys) => {
                    self.opener.install(keys.keys().protection().unwrap());
                    // A victim that cannot read the last message answers under older keys, or none.
                    if keys.keys().is_tls13() {
                        self.opener.expect_plain_alert();
                    }
                }
                // Sizes and early data play no part in the order of things.
                _ => {}
            }
        }
        self.say_each(&flight, out);
    }

    fn say_each(&mut self, flight: &[u8], out: &mut Vec<u8>) {
        for message in messages(flight) {
            self.say(Say::Sealed(ContentType::HANDSHAKE, message.to_vec()), out);
        }
    }

    fn say(&mut self, due: Say, out: &mut Vec<u8>) {
        let place = self.said.len();
        self.said.push(due.clone());
        for say in (self.script)(place, due) {
            self.write(&say, out);
        }
    }
}

impl Say {
    /// A handshake message in a record of its own.
    pub(super) fn message(kind: HandshakeType, body: &[u8]) -> Self {
        let [_, a, b, c] = u32::try_from(body.len()).unwrap().to_be_bytes();
        Self::Sealed(ContentType::HANDSHAKE, [&[kind.0, a, b, c], body].concat())
    }

    /// The kind of the message in it.
    pub(super) fn kind(&self) -> Option<HandshakeType> {
        match self {
            Self::Sealed(ContentType::HANDSHAKE, message) => {
                message.first().map(|kind| HandshakeType(*kind))
            }
            _ => None,
        }
    }
}

/// The messages in the content of handshake records.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let header = bytes.first_chunk::<4>()?;
        let length = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
        let (message, rest) = bytes.split_at(length + 4);
        bytes = rest;
        Some(message)
    })
}
