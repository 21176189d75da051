//! ec_point_formats: the supported encodings of points in TLS 1.2. RFC 8422 5.1.2
//!
//! TLS 1.3 does not negotiate point formats and ignores the extension.

use crate::code_points::EcPointFormat;
use crate::error::DecodeError;
use crate::list::List;

/// Checks that a TLS 1.2 peer that sends the extension supports uncompressed points.
/// RFC 8422 5.1.2, 5.2
///
/// # Errors
/// If the extension is present and does not list the uncompressed format.
pub fn check_point_formats(formats: Option<List<'_, EcPointFormat>>) -> Result<(), DecodeError> {
    if formats.is_some_and(|formats| !formats.contains(EcPointFormat::UNCOMPRESSED)) {
        return Err(DecodeError::InvalidPointFormats);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;
    use crate::structure::{Encoding, Vector};

    fn read(body: &[u8]) -> Result<List<'_, EcPointFormat>, DecodeError> {
        Reader::parse_all(body, Vector::<1, 1>::read)
    }

    /// RFC 8422 5.1.2, 5.2
    #[test]
    fn the_uncompressed_format_is_required() {
        assert_eq!(read(&[0]), Err(DecodeError::EmptyList));
        let check = |body: &'static [u8]| check_point_formats(Some(read(body).unwrap()));
        assert_eq!(check(&[1, 1]), Err(DecodeError::InvalidPointFormats));
        assert_eq!(check(&[2, 1, 0]), Ok(()));
        assert_eq!(check_point_formats(None), Ok(()));
    }
}
