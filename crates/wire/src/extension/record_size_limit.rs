//! record_size_limit: the largest record that a side accepts. RFC 8449 4
//!
//! The record layer decides which bytes count towards the limit; TLS 1.2 and 1.3 differ in this.

use crate::error::DecodeError;
use crate::reader::Reader;
use crate::structure::Encoding;
use crate::writer::Writer;

/// The encoding of a limit of at least 64.
pub(super) struct RecordSizeLimit;

impl Encoding<'_, u16> for RecordSizeLimit {
    fn read(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
        let limit = reader.u16()?;
        // Smaller limits would not allow a handshake. RFC 8449 4
        if limit < 64 { Err(DecodeError::InvalidRecordSizeLimit) } else { Ok(limit) }
    }

    fn write(limit: &u16, w: &mut Writer<'_>) {
        w.u16(*limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_under_64_is_an_illegal_parameter() {
        assert_eq!(Reader::parse_all(&[0, 64], RecordSizeLimit::read), Ok(64));
        let error = Reader::parse_all(&[0, 63], RecordSizeLimit::read).unwrap_err();
        assert_eq!(error.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }
}
