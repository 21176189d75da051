//! NewSessionTicket of TLS 1.3. RFC 9846 4.7.1
//!
//! The caller decides how long a ticket is kept.

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::extension::NewSessionTicketExtensions;
use crate::handshake::HandshakeMessage;
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// A TLS 1.3 session ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSessionTicket<'a> {
    /// The lifetime in seconds; clients use the ticket for seven days at most.
    pub ticket_lifetime: u32,
    /// The value to add to the ticket's age when it is used.
    pub ticket_age_add: u32,
    /// The nonce, which makes the pre-shared key unique to this ticket.
    pub ticket_nonce: &'a [u8],
    /// The ticket, used as the identity of the pre-shared key; never empty.
    pub ticket: &'a [u8],
    /// The extensions.
    pub extensions: NewSessionTicketExtensions<'a>,
}

impl<'a> HandshakeMessage<'a> for NewSessionTicket<'a> {
    const TYPE: HandshakeType = HandshakeType::NEW_SESSION_TICKET;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            ticket_lifetime: reader.u32()?,
            ticket_age_add: reader.u32()?,
            ticket_nonce: reader.opaque8()?,
            ticket: not_empty(reader.opaque16()?)?,
            extensions: NewSessionTicketExtensions::parse_block(reader.opaque16()?)?,
        })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.u32(self.ticket_lifetime);
        w.u32(self.ticket_age_add);
        w.opaque8(self.ticket_nonce);
        w.opaque16(self.ticket);
        self.extensions.write(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
