//! NewSessionTicket of TLS 1.3. RFC 9846 4.7.1
//!
//! The caller decides how long a ticket is kept.

use super::message;
use crate::extension::NewSessionTicketExtensions;
use crate::structure::{Vector, structure};

structure! {
    /// A TLS 1.3 session ticket.
    NewSessionTicket {
        /// The lifetime in seconds; clients use the ticket for seven days at most.
        ticket_lifetime: u32,
        /// The value to add to the ticket's age when it is used.
        ticket_age_add: u32,
        /// The nonce, which makes the pre-shared key unique to this ticket.
        ticket_nonce: &'a [u8] as Vector<1, 0>,
        /// The ticket, used as the identity of the pre-shared key; never empty.
        ticket: &'a [u8] as Vector<2, 1>,
        /// The extensions.
        extensions: NewSessionTicketExtensions<'a>,
    }
}
message! { NewSessionTicket<'a> = NEW_SESSION_TICKET }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    #[test]
    fn a_ticket_is_not_empty_and_its_extensions_are_not_left_out() {
        let start = [0, 0, 0, 9, 0, 0, 0, 8, 0];
        let parse = |rest: &[u8]| {
            let body = [&start, rest].concat();
            NewSessionTicket::parse(&body).map(|ticket| ticket.extensions.early_data)
        };
        assert_eq!(parse(&[0, 0, 0, 0]), Err(DecodeError::InvalidLength));
        assert_eq!(parse(&[0, 1, 7]), Err(DecodeError::Truncated));
        assert_eq!(parse(&[0, 1, 7, 0, 0]), Ok(None));
        assert_eq!(parse(&[0, 1, 7, 0, 8, 0, 42, 0, 4, 0, 0, 1, 0]), Ok(Some(256)));
        assert_eq!(parse(&[0, 1, 7, 0, 4, 0, 42, 0, 0]), Err(DecodeError::Truncated));
    }
}
