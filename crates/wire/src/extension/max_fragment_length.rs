//! max_fragment_length: the older way to ask for smaller records, superseded by record_size_limit. RFC 6066 4
//!
//! The code is kept as it came and means nothing here. Next: `record_size_limit`.

use crate::{DecodeError, Reader, Writer};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
    reader.u8()
}

pub(super) fn write(code: &u8, w: &mut Writer<'_>) {
    w.u8(*code);
}
