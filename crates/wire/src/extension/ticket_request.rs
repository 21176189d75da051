//! ticket_request: how many tickets are wanted, and how many will come. RFC 9149 3
//!
//! The counts are hints; limits are for the protocol. Next: [`crate::NewSessionTicket`].

/// How many tickets a client would like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// After a full handshake.
    pub new_session_count: u8,
    /// After a resumed one.
    pub resumption_count: u8,
}

/// What a client would like.
pub(super) mod client {
    use super::TicketRequest;
    use crate::{DecodeError, Reader, Writer};

    pub(in crate::extension) fn read(
        reader: &mut Reader<'_>,
    ) -> Result<TicketRequest, DecodeError> {
        Ok(TicketRequest { new_session_count: reader.u8()?, resumption_count: reader.u8()? })
    }

    pub(in crate::extension) fn write(request: &TicketRequest, w: &mut Writer<'_>) {
        w.u8(request.new_session_count);
        w.u8(request.resumption_count);
    }
}

/// What the server will send.
pub(super) mod server {
    use crate::{DecodeError, Reader, Writer};

    pub(in crate::extension) fn read(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
        reader.u8()
    }

    pub(in crate::extension) fn write(expected_count: &u8, w: &mut Writer<'_>) {
        w.u8(*expected_count);
    }
}
