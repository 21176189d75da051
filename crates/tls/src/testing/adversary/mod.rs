//! A misbehaving peer with the right keys, and what the two sides say to it.
//!
//! What it is for: the rules that a peer can break only from inside an encrypted handshake.
//! Must not know: the public interface's niceties. Next: [`order`]; [`puppet`] is the peer.

mod cast;
mod content;
mod early_data;
mod kept_sessions;
mod order;
mod puppet;
mod records;
mod reserved_values;
mod staples;

pub(super) use cast::{credential, name};
use tercel_wire::ProtocolVersion;

use crate::config::policy::Side;
use crate::connection::Connection;

/// A situation for who needs just one.
pub(super) fn any_scene() -> cast::Scene {
    cast::scenes().next().unwrap()
}

/// One side of a connection that nothing went wrong with.
pub(super) fn connected(side: Side, version: ProtocolVersion) -> Connection {
    let mut scenes =
        cast::scenes().filter(|scene| scene.victim == side && scene.version == version);
    match scenes.next().unwrap().play(|_, due| vec![due]) {
        puppet::Outcome::Connected(connection) => *connection,
        other => panic!("{other:?}"),
    }
}
