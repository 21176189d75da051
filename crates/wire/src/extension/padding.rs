//! padding: zeros that lengthen a ClientHello. RFC 7685 3
//!
//! Only the length is kept; the bytes that a peer sends are not checked.

use crate::error::DecodeError;
use crate::reader::Reader;
use crate::structure::Encoding;
use crate::writer::Writer;

/// The encoding of a number of zeros.
pub(super) struct Padding;

impl Encoding<'_, u16> for Padding {
    fn read(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
        u16::try_from(reader.rest().len()).map_err(|_| DecodeError::InvalidLength)
    }

    fn write(length: &u16, w: &mut Writer<'_>) {
        w.zeros(usize::from(*length));
    }
}
