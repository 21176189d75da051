//! ticket_request: the number of tickets that the client requests, and the number that the server
//! will send. RFC 9149 3
//!
//! The counts are hints; limits are set by the caller.

use crate::error::DecodeError;
use crate::list::Element;
use crate::reader::Reader;
use crate::writer::Writer;

/// The number of tickets that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// The number of tickets after a full handshake.
    pub new_session_count: u8,
    /// The number of tickets after a resumed handshake.
    pub resumption_count: u8,
}

impl Element<'_> for TicketRequest {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { new_session_count: reader.u8()?, resumption_count: reader.u8()? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.new_session_count);
        w.u8(self.resumption_count);
    }
}
