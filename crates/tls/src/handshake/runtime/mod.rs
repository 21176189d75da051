//! The runtime of a handshake: coroutines, their mailbox, and the record layer that they use.

pub(crate) mod command;
pub(crate) mod coroutine;
pub(crate) mod established;
pub(crate) mod flow;
pub(crate) mod mailbox;
pub(crate) mod record_limits;
pub(crate) mod records;
