//! Records: framing, protection, and putting messages together again.
//!
//! Must not know: handshakes, connections, key schedules. What it is given are keys, what it is
//! handed are bytes of a type. Next: [`sealer`] and [`opener`], the two directions.

pub(crate) mod frame;
pub(crate) mod joiner;
pub(crate) mod limits;
pub(crate) mod opener;
pub(crate) mod protection;
pub(crate) mod sealer;
