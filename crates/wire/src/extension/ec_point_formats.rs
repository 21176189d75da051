//! ec_point_formats: how points are written in TLS 1.2. RFC 8422 5.1.2
//!
//! TLS 1.3 has no such negotiation and ignores what is sent. Next: `supported_groups`.

use crate::{DecodeError, EcPointFormat, List, Reader, Writer};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, EcPointFormat>, DecodeError> {
    let formats = List::read8(reader)?.not_empty()?;
    // Whoever sends the extension can at least do uncompressed points. RFC 8422 5.1.2
    if !formats.contains(EcPointFormat::UNCOMPRESSED) {
        return Err(DecodeError::InvalidPointFormats);
    }
    Ok(formats)
}

pub(super) fn write(formats: &List<'_, EcPointFormat>, w: &mut Writer<'_>) {
    formats.write8(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uncompressed_format_must_be_there() {
        assert_eq!(Reader::all(&[0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::all(&[1, 1], read), Err(DecodeError::InvalidPointFormats));
        assert!(Reader::all(&[2, 1, 0], read).is_ok());
    }
}
