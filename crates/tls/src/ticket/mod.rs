//! Session tickets: what a server remembers, sealed and kept by its clients. RFC 5077, RFC 9846 4.7.1
//!
//! [`RotatingTickets`] is for one process with keys of its own, [`SharedTickets`] for processes that open
//! each other's tickets. Must not know: what is in a session, and who resumes it; a session is bytes here.
//! Next: `sealing.rs`, where bytes become a ticket; `swap.rs`, why nobody waits for a rotation; `session/` for
//! the stores of either side.
//!
//! ```text
//! own keys      key name 16              | nonce 12 | ciphertext | tag 16
//! shared keys   key name 16  |  salt 16  | nonce 12 | ciphertext | tag 16
//! ```

pub(crate) mod rotating;
mod sealing;
pub(crate) mod shared;
mod swap;

use pki_types::UnixTime;

/// Turns sessions into tickets and back; what a server's configuration holds.
pub trait TicketSealer: Send + Sync {
    /// A ticket with `session` in it; `None` if there can be none now: randomness failed, a key is spent,
    /// the session is too long. A connection goes on without.
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// The session in a ticket that was sealed here, or by a sharer of the keys, and is not too old.
    /// Bytes of any other kind and length are `None`.
    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// How many seconds a ticket sealed now will be accepted at least, for `ticket_lifetime`.
    fn lifetime(&self) -> u32;
}

/// The longest time a ticket may be used: seven days. RFC 9846 4.7.1
const MAX_LIFETIME: u32 = 604_800;
