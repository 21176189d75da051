//! renegotiation_info: binds a renegotiation to the previous handshake. Empty here, because this
//! library does not renegotiate. RFC 5746 3.2
//!
//! The contents are checked by the caller.

use crate::error::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    reader.opaque8()
}

pub(super) fn write(renegotiated_connection: &&[u8], w: &mut Writer<'_>) {
    w.opaque8(renegotiated_connection);
}
