//! Encoding of the sender and the receiver of a connection.
//!
//! ```text
//! sender:   keys 1.. | sequence 8 | updates 8 | max fragment 2 | padding 2 | link 4 | closed 1
//! receiver: keys 1.. | sequence 8 | updates 8 | max plaintext 2 | incomplete message 3..
//!           empty records 1 | updates in a row 1 | warnings in a row 1 | closed 1
//! ```
//!
//! The patterns below list every field, so that the compiler reports a new field.

use tercel_wire::{ProtocolVersion, Reader, Writer};

use super::read_bool;
use crate::connection::link::{Link, ReadKeys, WriteKeys};
use crate::connection::post_handshake::PostHandshake;
use crate::connection::receiver::Receiver;
use crate::connection::sender::Sender;
use crate::connection::{receiver, sender};
use crate::keys::direction::Keys;
use crate::keys::suite::Suite;
use crate::record::frame::RecordVersion;
use crate::record::limits;
use crate::record::opener::Opener;
use crate::record::sealer::{Padding, Sealer};
use crate::side::Side;

pub(super) fn write_sender(w: &mut Writer<'_>, sender: &Sender) {
    // `version` was written earlier. `allowance` limits early data, which ends with the handshake.
    let Sender { sealer, version: _, keys, updates, state, allowance: _ } = sender;
    write_keys(w, keys.get().as_ref(), sealer.sequence(), *updates);
    w.u16(sealer.max_fragment());
    w.u16(match sealer.padding {
        Padding::None => 0,
        Padding::Block(block) => block,
    });
    // The link's stored session is written by `write_session`.
    w.u32(keys.link().signals().persistent());
    w.u8(u8::from(*state == sender::State::Closed));
}

pub(super) fn read_sender(
    r: &mut Reader<'_>,
    version: ProtocolVersion,
    suite: &'static Suite,
) -> Option<Sender> {
    let (keys, sequence, updates) = read_keys(r, suite)?;
    let mut sealer = Sealer::new();
    sealer.set_max_fragment(read_limit(r)?);
    sealer.padding = match r.u16().ok()? {
        0 => Padding::None,
        block => Padding::Block(block),
    };
    sealer.protection = Some(keys.parked(sequence));
    let link = Link::from_word(r.u32().ok()?)?;
    let place = WriteKeys::on(&link);
    place.put(keys);
    let mut sender = Sender::new(sealer, version, place);
    sender.updates = updates;
    if read_bool(r)? {
        sender.state = sender::State::Closed;
    }
    Some(sender)
}

pub(super) fn write_receiver(w: &mut Writer<'_>, receiver: &Receiver) {
    // Not written here: the link, which the sender's encoding contains; the tickets, which are
    // written later; and whether truncation is tolerated, which the configuration of the restored
    // connection determines.
    let Receiver { opener, post_handshake, state } = receiver;
    let PostHandshake {
        side: _,
        version: _,
        keys,
        sessions: _,
        // `check_idle` has ensured that there is nothing to save.
        authentication: _,
        tolerate_truncation: _,
        joiner,
        updates,
        updates_in_a_row,
        warnings_in_a_row,
    } = post_handshake;
    write_keys(w, keys.get().as_ref(), opener.sequence(), *updates);
    w.u16(opener.max_plaintext);
    w.opaque24(joiner.waiting());
    w.u8(opener.empty_records);
    w.u8(*updates_in_a_row);
    w.u8(*warnings_in_a_row);
    w.u8(u8::from(*state == receiver::State::Closed));
}

pub(super) fn read_receiver(
    r: &mut Reader<'_>,
    side: Side,
    version: ProtocolVersion,
    suite: &'static Suite,
    link: &Link,
    tolerate_truncation: bool,
) -> Option<Receiver> {
    let (keys, sequence, updates) = read_keys(r, suite)?;
    let mut opener = Opener::new();
    opener.version = if suite.is_tls13() { RecordVersion::Tls13 } else { RecordVersion::Tls12 };
    opener.max_plaintext = read_limit(r)?;
    opener.install(keys.parked(sequence));
    let place = ReadKeys::on(link);
    place.put(keys);
    let mut post_handshake = PostHandshake::new(side, version, place, None, None);
    post_handshake.updates = updates;
    post_handshake.tolerate_truncation = tolerate_truncation;
    post_handshake.joiner.push(r.opaque24().ok()?);
    // A valid receiver has neither a complete message nor a message that is too long.
    if !matches!(post_handshake.joiner.next(), Ok(None)) {
        return None;
    }
    opener.empty_records = r.u8().ok()?;
    post_handshake.updates_in_a_row = r.u8().ok()?;
    post_handshake.warnings_in_a_row = r.u8().ok()?;
    let mut receiver = Receiver::new(opener, post_handshake);
    if read_bool(r)? {
        receiver.state = receiver::State::Closed;
    }
    Some(receiver)
}

fn write_keys(w: &mut Writer<'_>, keys: Option<&Keys>, sequence: u64, updates: u64) {
    w.opaque8(keys.map(Keys::as_bytes).unwrap_or_default());
    w.u64(sequence);
    w.u64(updates);
}

fn read_keys(r: &mut Reader<'_>, suite: &'static Suite) -> Option<(Keys, u64, u64)> {
    let keys = Keys::from_bytes(suite, r.opaque8().ok()?)?;
    let sequence = r.u64().ok()?;
    let updates = r.u64().ok().filter(|updates| *updates <= limits::MAX_KEY_UPDATES)?;
    Some((keys, sequence, updates))
}

/// Reads a limit of plaintext bytes in a record.
fn read_limit(r: &mut Reader<'_>) -> Option<u16> {
    let longest = 1..=limits::MAX_FRAGMENT;
    r.u16().ok().filter(|bytes| longest.contains(&usize::from(*bytes)))
}
