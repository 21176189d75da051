//! early_data in a NewSessionTicket: how much of it the ticket allows. RFC 9846 4.3.10
//!
//! In hellos and in EncryptedExtensions the extension is empty. Next: [`crate::NewSessionTicket`].

use crate::{DecodeError, Reader, Writer};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    reader.u32()
}

pub(super) fn write(max_early_data_size: &u32, w: &mut Writer<'_>) {
    w.u32(*max_early_data_size);
}
