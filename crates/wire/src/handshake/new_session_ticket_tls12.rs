//! NewSessionTicket of TLS 1.2. RFC 5077 3.3
//!
//! The caller decides how long a ticket is kept.

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::handshake::HandshakeMessage;
use crate::reader::Reader;
use crate::writer::Writer;

/// A TLS 1.2 session ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSessionTicketTls12<'a> {
    /// The lifetime in seconds. If it is zero, the client chooses the lifetime.
    pub ticket_lifetime_hint: u32,
    /// The ticket; empty if the server does not issue one after all.
    pub ticket: &'a [u8],
}

impl<'a> HandshakeMessage<'a> for NewSessionTicketTls12<'a> {
    const TYPE: HandshakeType = HandshakeType::NEW_SESSION_TICKET;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { ticket_lifetime_hint: reader.u32()?, ticket: reader.opaque16()? })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.u32(self.ticket_lifetime_hint);
        w.opaque16(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_may_be_empty() {
        assert!(NewSessionTicketTls12::parse(&[0, 0, 0, 0, 0, 0]).unwrap().ticket.is_empty());
        assert_eq!(NewSessionTicketTls12::parse(&[0, 0, 0, 0, 0, 1]), Err(DecodeError::Truncated));
    }
}
