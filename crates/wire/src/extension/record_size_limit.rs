//! record_size_limit: the largest record a side takes. RFC 8449 4
//!
//! What counts towards it differs by version and is for the record layer. Next: `padding`.

use crate::{DecodeError, Reader, Writer};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    let limit = reader.u16()?;
    // Under 64 bytes no handshake could be read. RFC 8449 4
    if limit < 64 { Err(DecodeError::InvalidRecordSizeLimit) } else { Ok(limit) }
}

pub(super) fn write(limit: &u16, w: &mut Writer<'_>) {
    w.u16(*limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_under_64_is_an_illegal_parameter() {
        assert_eq!(Reader::all(&[0, 64], read), Ok(64));
        let error = Reader::all(&[0, 63], read).unwrap_err();
        assert_eq!(error.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }
}
