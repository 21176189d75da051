//! Session tickets: a server's sessions, encrypted and stored by its clients. RFC 5077,
//! RFC 9846 4.7.1
//!
//! [`rotating::RotatingTickets`] is for one process with keys of its own, and
//! [`shared::SharedTickets`] for processes that open each other's tickets.
//!
//! ```text
//! own keys      key name 16              | nonce 12 | ciphertext | tag 16
//! shared keys   key name 16  |  salt 16  | nonce 12 | ciphertext | tag 16
//! ```

pub(crate) mod rotating;
mod sealing;
pub(crate) mod shared;
mod swap;

use core::time::Duration;

use pki_types::UnixTime;

/// An encoder and decoder of session tickets, for a server's configuration.
pub trait TicketSealer: Send + Sync {
    /// Seals `session` in a ticket. `None` if that fails because of the random generator, an
    /// exhausted key, or the session's length; the connection then continues without a ticket.
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Opens a ticket that this sealer, or another one with the same keys, has sealed. `None` if
    /// the ticket has expired, or if the bytes are not such a ticket.
    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// The time for which a ticket sealed now will at least be accepted, for `ticket_lifetime`:
    /// whole seconds, at most seven days.
    fn lifetime(&self) -> Duration;
}
