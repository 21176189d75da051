//! What a coroutine returns when its handshake is complete.
//!
//! Must not know: records. Next: [`super::driver`], which makes a connection of it.

use crate::connection::export::Exporter;
use crate::connection::facts::Facts;

/// The outcome of a handshake, keys apart: those went out as commands.
pub(crate) struct Established {
    pub(crate) facts: Facts,
    pub(crate) exporter: Exporter,
    pub(crate) tolerate_truncation: bool,
}
