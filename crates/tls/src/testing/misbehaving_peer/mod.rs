//! A misbehaving peer with the right keys, for the rules that a peer can break only within an
//! encrypted handshake.

mod cases;
mod early_data;
mod message_content;
mod message_order;
mod named_errors;
mod records;
mod removed_sessions;
mod reserved_values;
mod scripted_peer;
mod staples;
mod stored_sessions;

pub(super) use cases::{credential, name};

use tercel_wire::ProtocolVersion;

use crate::connection::Connection;
use crate::side::Side;

/// A case for tests that need only one case, whichever it is.
pub(super) fn any_case() -> cases::Case {
    cases::cases().next().unwrap()
}

/// One side of a connection after a successful handshake.
pub(super) fn connected(side: Side, version: ProtocolVersion) -> Connection {
    let mut cases = cases::cases().filter(|case| case.tested == side && case.version == version);
    match cases.next().unwrap().run(|_, due| vec![due]) {
        scripted_peer::Outcome::Connected(connection) => *connection,
        other => panic!("{other:?}"),
    }
}
