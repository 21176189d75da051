//! Session tickets: sessions of a server, which are encrypted and stored by its clients. RFC 5077,
//! RFC 9846 4.7.1
//!
//! [`rotating::RotatingTickets`] is for a single process with its own keys, and
//! [`shared::SharedTickets`] is for processes that open each other's tickets.
//!
//! ```text
//! own keys      key name 16              | nonce 12 | ciphertext | tag 16
//! shared keys   key name 16  |  salt 16  | nonce 12 | ciphertext | tag 16
//! ```
//!
//! With the feature `fips` the nonce is at the end, after the tag, and is drawn by the FIPS module.

pub(crate) mod rotating;
mod sealing;
pub(crate) mod shared;
mod swap;

use core::time::Duration;

use pki_types::UnixTime;

/// A type that seals sessions in tickets and opens them again, for a server's configuration.
pub trait TicketSealer: Send + Sync {
    /// Seals `session` in a ticket. Returns `None` if that fails because of the random generator,
    /// an exhausted key, or the session's length. The connection then continues without a ticket.
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Opens a ticket that was sealed by this sealer, or by another sealer with the same keys.
    /// Returns `None` if the ticket has expired, or if the bytes are not a ticket under these keys.
    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Returns whether a client whose ticket was opened just before gets a new ticket for the same
    /// session in TLS 1.2, such as one under a newer key. TLS 1.3 issues new tickets in any case.
    /// RFC 5077 3.3
    fn needs_renewal(&self, ticket: &[u8], now: UnixTime) -> bool {
        let _ = (ticket, now);
        false
    }

    /// Returns the minimum time for which a ticket that is sealed now will be accepted. It is sent
    /// as `ticket_lifetime`: whole seconds, at most seven days.
    fn lifetime(&self) -> Duration;

    /// Returns whether tickets are sealed by this library's sealers, or by a module that is
    /// approved in the sense of FIPS 140-3. Default: false.
    fn is_fips_approved(&self) -> bool {
        false
    }
}
