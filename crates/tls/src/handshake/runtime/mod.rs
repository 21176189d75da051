//! The runtime of a handshake: coroutines, their mailbox, and the record layer that they use.

pub(crate) mod command;
pub(crate) mod coroutine;
pub(crate) mod established;
pub(crate) mod flow;
#[cfg(feature = "quic")]
pub(crate) mod levels;
pub(crate) mod mailbox;
pub(crate) mod record_limits;
pub(crate) mod records;
