//! ec_point_formats: how points are written in TLS 1.2. RFC 8422 5.1.2
//!
//! TLS 1.3 has no such negotiation and ignores what is sent. Next: `supported_groups`.

use crate::{DecodeError, EcPointFormat, List, Reader, Writer};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, EcPointFormat>, DecodeError> {
    List::read8(reader)?.not_empty()
}

pub(super) fn write(formats: &List<'_, EcPointFormat>, w: &mut Writer<'_>) {
    formats.write8(w);
}

/// TLS 1.2: a peer that sends the extension can at least do uncompressed points. RFC 8422 5.1.2, 5.2
///
/// # Errors
/// If it says that it cannot.
pub fn check_point_formats(formats: Option<List<'_, EcPointFormat>>) -> Result<(), DecodeError> {
    if formats.is_some_and(|formats| !formats.contains(EcPointFormat::UNCOMPRESSED)) {
        return Err(DecodeError::InvalidPointFormats);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uncompressed_format_must_be_there() {
        assert_eq!(Reader::all(&[0], read), Err(DecodeError::EmptyList));
        let check =
            |body: &'static [u8]| check_point_formats(Some(Reader::all(body, read).unwrap()));
        assert_eq!(check(&[1, 1]), Err(DecodeError::InvalidPointFormats));
        assert_eq!(check(&[2, 1, 0]), Ok(()));
        assert_eq!(check_point_formats(None), Ok(()));
    }
}
