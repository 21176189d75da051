//! NewSessionTicket of TLS 1.2. RFC 5077 3.3
//!
//! The caller decides how long a ticket is kept.

use super::message;
use crate::structure::{Vector, structure};

structure! {
    /// A TLS 1.2 session ticket.
    NewSessionTicketTls12 {
        /// The lifetime in seconds. If it is zero, the client chooses the lifetime.
        ticket_lifetime_hint: u32,
        /// The ticket; empty if the server does not issue one after all.
        ticket: &'a [u8] as Vector<2, 0>,
    }
}
message! { NewSessionTicketTls12<'a> = NEW_SESSION_TICKET }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    #[test]
    fn a_ticket_may_be_empty() {
        assert!(NewSessionTicketTls12::parse(&[0, 0, 0, 0, 0, 0]).unwrap().ticket.is_empty());
        assert_eq!(NewSessionTicketTls12::parse(&[0, 0, 0, 0, 0, 1]), Err(DecodeError::Truncated));
    }
}
