//! Record layer: framing, protection, and reassembly of handshake messages.

pub(crate) mod frame;
pub(crate) mod joiner;
pub(crate) mod limits;
pub(crate) mod opener;
pub(crate) mod protection;
pub(crate) mod sealer;
