//! An attacker on the path between two sides, who changes records in transit as the input says.
//!
//! Without the keys the attacker sees opaque records. With the keys it opens them, changes the
//! content and seals it again, which leads to more states.

use std::collections::VecDeque;

use tercel::Side;

use super::keys::{APPLICATION_DATA, Epoch, HANDSHAKE, Keys, with_header};
use crate::script::Script;

/// One direction of the attacked connection.
pub(super) struct Attacker {
    in_transit: VecDeque<Record>,
    has_keys: bool,
    /// The keys of the sender, and the keys of the receiver.
    opening: Keys,
    sealing: Keys,
}

#[derive(Clone)]
enum Record {
    Opaque(Vec<u8>),
    Open { epoch: Epoch, kind: u8, content: Vec<u8> },
}

/// The limit of records in transit. Above it, no records are added.
const MAX_IN_TRANSIT: usize = 64;

/// A little more than the limit of a record.
const LONGEST: usize = (1 << 14) + 2100;

impl Attacker {
    pub(super) fn new(sender: Side, has_keys: bool) -> Self {
        let receiver = match sender {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        Self {
            in_transit: VecDeque::new(),
            has_keys,
            opening: Keys::new(sender, sender),
            sealing: Keys::new(receiver, sender),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_transit.is_empty()
    }

    /// Sets the random of a TLS 1.2 ServerHello, on which the keys of both directions depend.
    pub(super) fn set_server_random(&mut self, random: [u8; 32]) {
        self.opening.server_random = random;
        self.sealing.server_random = random;
    }

    /// The random of a first ServerHello in transit.
    pub(super) fn server_random(&self) -> Option<[u8; 32]> {
        let Record::Open { kind: HANDSHAKE, content, .. } = self.in_transit.front()? else {
            return None;
        };
        content.get(6..)?.first_chunk().copied().filter(|_| content[0] == 2)
    }

    /// Takes the complete records that a side sent.
    pub(super) fn accept(&mut self, mut sent: &[u8]) {
        while let Some(header) = sent.first_chunk::<5>() {
            let length = 5 + usize::from(u16::from_be_bytes([header[3], header[4]]));
            assert!(length <= sent.len(), "a side sends complete records");
            let (record, rest) = sent.split_at(length);
            sent = rest;
            let record = if self.has_keys { self.open(record) } else { opaque(record) };
            self.in_transit.push_back(record);
        }
        assert!(sent.is_empty(), "a side sends complete records");
    }

    /// The next record to deliver.
    pub(super) fn deliver_next(&mut self) -> Option<Vec<u8>> {
        Some(match self.in_transit.pop_front()? {
            Record::Opaque(bytes) => bytes,
            Record::Open { epoch: Epoch::Clear, kind, content } => with_header(kind, &content),
            Record::Open { epoch, kind, content } => self.sealing.seal(epoch, kind, &content),
        })
    }

    /// Changes records in transit, as `script` says. `None` if there is no such record.
    pub(super) fn change(&mut self, way: u8, script: &mut Script<'_>) -> Option<()> {
        let at = usize::from(script.byte()?).checked_rem(self.in_transit.len()).unwrap_or(0);
        match way {
            0 => drop(self.in_transit.remove(at)),
            1 => self.add(at, self.in_transit.get(at)?.clone()),
            2 => {
                let next = (at + 1).checked_rem(self.in_transit.len())?;
                self.in_transit.swap(at, next);
            }
            3 => self.add(at, self.known_message(script.byte()?)),
            4 => {
                let (kind, length) = (script.byte()?, script.byte()?.into());
                self.add(at, self.record(kind, script.take(length)));
            }
            5 => {
                let bytes = self.in_transit.get_mut(at)?.bytes();
                let offset = script.number()?.checked_rem(bytes.len())?;
                bytes[offset] ^= script.byte()?.max(1);
            }
            6 => {
                let bytes = self.in_transit.get_mut(at)?.bytes();
                let offset = script.number()? % (bytes.len() + 1);
                let [removed, added] = [script.byte()?, script.byte()?].map(usize::from);
                let end = bytes.len().min(offset + removed);
                bytes.splice(offset..end, script.take(added).iter().copied());
                bytes.truncate(LONGEST);
            }
            7 => self.in_transit.get_mut(at)?.bytes().truncate(script.number()?),
            8 => {
                let length = script.number()? % LONGEST;
                self.in_transit.get_mut(at)?.bytes().resize(length, 0);
            }
            9 => self.split(at, script.number()?),
            10 => self.join(at),
            11 => self.in_transit.get_mut(at)?.fix_length(),
            12 => match self.in_transit.get_mut(at)? {
                Record::Open { kind, .. } => *kind = script.byte()?,
                Record::Opaque(bytes) => *bytes.first_mut()? = script.byte()?,
            },
            _ => match self.in_transit.get_mut(at)? {
                Record::Open { epoch, .. } => {
                    let epochs = [Epoch::Clear, Epoch::Handshake, Epoch::Application];
                    *epoch = epochs[usize::from(script.byte()?) % epochs.len()];
                }
                Record::Opaque(bytes) => bytes.reverse(),
            },
        }
        Some(())
    }

    fn open(&mut self, record: &[u8]) -> Record {
        if let Some((epoch, kind, content)) = self.opening.open(record) {
            return Record::Open { epoch, kind, content };
        }
        match record[0] {
            APPLICATION_DATA => opaque(record),
            kind => Record::Open { epoch: Epoch::Clear, kind, content: record[5..].to_vec() },
        }
    }

    fn add(&mut self, at: usize, record: Record) {
        if self.in_transit.len() < MAX_IN_TRANSIT {
            self.in_transit.insert(at, record);
        }
    }

    /// Makes a new record with the protection of the first record in transit. If there is none, the
    /// record is protected as data.
    fn record(&self, kind: u8, content: &[u8]) -> Record {
        if !self.has_keys {
            return Record::Opaque(with_header(kind, content));
        }
        let epoch = match self.in_transit.front() {
            Some(Record::Open { epoch, .. }) => *epoch,
            _ => Epoch::Application,
        };
        Record::Open { epoch, kind, content: content.to_vec() }
    }

    /// A valid message, for insertion at the wrong time.
    fn known_message(&self, which: u8) -> Record {
        const MESSAGES: [(u8, &[u8]); 16] = [
            (20, &[1]),
            (20, &[1, 1]),
            (21, &[1, 0]),
            (21, &[1, 90]),
            (21, &[1, 100]),
            (21, &[2, 40]),
            (22, &[]),
            (22, &[0, 0, 0, 0]),
            (22, &[24, 0, 0, 1, 0]),
            (22, &[24, 0, 0, 1, 1]),
            (22, &[4, 0, 0, 14, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 7, 0, 0]),
            (22, &[14, 0, 0, 0]),
            (22, &[13, 0, 0, 3, 0, 0, 0]),
            (22, &[11, 0, 0, 4, 0, 0, 0, 0]),
            (23, &[]),
            (23, b"data"),
        ];
        let (kind, content) = MESSAGES[usize::from(which) % MESSAGES.len()];
        self.record(kind, content)
    }

    fn split(&mut self, at: usize, offset: usize) {
        let Some(record) = self.in_transit.get_mut(at) else { return };
        let bytes = record.bytes();
        let tail = bytes.split_off(offset % (bytes.len() + 1));
        let mut second = record.clone();
        *second.bytes() = tail;
        self.add(at + 1, second);
    }

    fn join(&mut self, at: usize) {
        let Some(mut second) = self.in_transit.remove(at + 1) else { return };
        let Some(first) = self.in_transit.get_mut(at) else { return };
        first.bytes().append(second.bytes());
        first.bytes().truncate(LONGEST);
    }
}

impl Record {
    fn bytes(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Opaque(bytes) => bytes,
            Self::Open { content, .. } => content,
        }
    }

    /// Sets the length in the header to the actual length.
    fn fix_length(&mut self) {
        let (bytes, place) = match self {
            Self::Opaque(bytes) => (bytes, 3..5),
            Self::Open { content, .. } => (content, 1..4),
        };
        let length = bytes.len().saturating_sub(place.end).to_be_bytes();
        if let Some(field) = bytes.get_mut(place) {
            let start = length.len() - field.len();
            field.copy_from_slice(&length[start..]);
        }
    }
}

fn opaque(record: &[u8]) -> Record {
    Record::Opaque(record.to_vec())
}
