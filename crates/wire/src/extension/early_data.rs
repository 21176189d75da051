//! early_data in a NewSessionTicket: the amount of early data that the ticket allows.
//! RFC 9846 4.3.10
//!
//! In ClientHello and EncryptedExtensions the extension is empty.

use crate::error::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    reader.u32()
}

pub(super) fn write(max_early_data_size: &u32, w: &mut Writer<'_>) {
    w.u32(*max_early_data_size);
}
