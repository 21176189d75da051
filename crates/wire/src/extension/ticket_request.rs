//! ticket_request: the number of tickets that the client requests, and the number that the server
//! will send. RFC 9149 3
//!
//! The counts are hints; limits are set by the caller.

/// The number of tickets that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// The number of tickets after a full handshake.
    pub new_session_count: u8,
    /// The number of tickets after a resumed handshake.
    pub resumption_count: u8,
}

/// The client's request.
pub(super) mod client {
    use super::TicketRequest;
    use crate::error::DecodeError;
    use crate::reader::Reader;
    use crate::writer::Writer;

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

/// The number of tickets that the server will send.
pub(super) mod server {
    use crate::error::DecodeError;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
        reader.u8()
    }

    pub(in crate::extension) fn write(expected_count: &u8, w: &mut Writer<'_>) {
        w.u8(*expected_count);
    }
}
