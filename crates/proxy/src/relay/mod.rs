//! The data phase of a connection: relaying bytes between client and backend, idle timeouts,
//! closing.

pub(crate) mod buffer;
pub(crate) mod coalesce;
pub(crate) mod flow;
pub(crate) mod lingering_close;
pub(crate) mod passthrough;
pub(crate) mod proxied_connection;
