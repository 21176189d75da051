//! Sender and receiver as bytes.
//!
//! ```text
//! sender:   keys 1.. | sequence 8 | updates 8 | max fragment 2 | padding 2 | link 4 | closed 1
//! receiver: keys 1.. | sequence 8 | updates 8 | max plaintext 2 | half a message 3..
//!           empty records 1 | updates in a row 1 | warnings in a row 1 | closed 1
//! ```
//!
//! The patterns below name every field, so that a new one cannot be forgotten here.
//! Must not know: what the halves do. Next: [`super::facts`].

use tercel_wire::{ProtocolVersion, Reader, Writer};

use super::read_bool;
use crate::config::policy::Side;
use crate::connection::link::{Link, ReadKeys, WriteKeys};
use crate::connection::post_handshake::PostHandshake;
use crate::connection::receiver::{self, Receiver};
use crate::connection::sender::{self, Sender};
use crate::keys::direction::Keys;
use crate::keys::suite::Suite;
use crate::record::frame::Expect;
use crate::record::limits;
use crate::record::opener::Opener;
use crate::record::sealer::{Padding, Sealer};

pub(super) fn write_sender(w: &mut Writer<'_>, sender: &Sender) {
    // After a handshake there is no allowance for early data; the version stands before the halves.
    let Sender { sealer, version: _, keys, updates, state, allowance: _ } = sender;
    write_keys(w, keys.get().as_ref(), sealer.sequence(), *updates);
    w.u16(sealer.max_fragment());
    w.u16(match sealer.padding() {
        Padding::None => 0,
        Padding::Block(block) => block,
    });
    // Where something is to be forgotten stands apart.
    w.u32(keys.link().signals().lasting());
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
    sealer.set_padding(match r.u16().ok()? {
        0 => Padding::None,
        block => Padding::Block(block),
    });
    sealer.install(keys.parked(sequence));
    let link = Link::from_word(r.u32().ok()?)?;
    let place = WriteKeys::on(&link);
    place.put(keys);
    let mut sender = Sender::new(sealer, version, place);
    sender.updates = updates;
    if read_bool(r)? {
        sender.state = sender::State::Closed;
        sender.link().write_closed();
    }
    Some(sender)
}

pub(super) fn write_receiver(w: &mut Writer<'_>, receiver: &Receiver) {
    // The link stands with the sender; tickets come last; tolerance is the next configuration's.
    let Receiver { opener, post, state } = receiver;
    let PostHandshake {
        side: _,
        version: _,
        keys,
        tickets: _,
        // `check_idle` saw to it that there is nothing to carry.
        authentication: _,
        tolerate_truncation: _,
        joiner,
        updates,
        updates_in_a_row,
        warnings_in_a_row,
    } = post;
    write_keys(w, keys.get().as_ref(), opener.sequence(), *updates);
    w.u16(opener.max_plaintext());
    w.opaque24(joiner.waiting());
    w.u8(opener.empty_records());
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
    opener.expect(if suite.is_tls13() { Expect::Tls13 } else { Expect::Tls12 });
    opener.set_max_plaintext(read_limit(r)?);
    opener.install(keys.parked(sequence));
    let place = ReadKeys::on(link);
    place.put(keys);
    let mut post = PostHandshake::new(side, version, place, None, None);
    post.updates = updates;
    post.tolerate_truncation = tolerate_truncation;
    post.joiner.push(r.opaque24().ok()?);
    // A whole message would not have waited, and one that is too long would have been refused.
    if !matches!(post.joiner.next(), Ok(None)) {
        return None;
    }
    opener.set_empty_records(r.u8().ok()?);
    post.updates_in_a_row = r.u8().ok()?;
    post.warnings_in_a_row = r.u8().ok()?;
    let mut receiver = Receiver::new(opener, post);
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

/// Bytes of plaintext in a record.
fn read_limit(r: &mut Reader<'_>) -> Option<u16> {
    let longest = 1..=limits::MAX_FRAGMENT;
    r.u16().ok().filter(|bytes| longest.contains(&usize::from(*bytes)))
}
