//! signed_certificate_timestamp: Certificate Transparency timestamps. RFC 6962 3.3
//!
//! Timestamps are not parsed here.

use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// One timestamp as serialized by a log; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerializedSct<'a>(pub &'a [u8]);

impl<'a> Element<'a> for SerializedSct<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(not_empty(reader.opaque16()?)?))
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque16(self.0);
    }
}

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<List<'a, SerializedSct<'a>>, DecodeError> {
    List::read16(reader)?.not_empty()
}

pub(super) fn write(timestamps: &List<'_, SerializedSct<'_>>, w: &mut Writer<'_>) {
    timestamps.write16(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timestamps_and_empty_ones_are_refused() {
        assert_eq!(Reader::parse_all(&[0, 0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::parse_all(&[0, 2, 0, 0], read), Err(DecodeError::InvalidLength));
    }
}
