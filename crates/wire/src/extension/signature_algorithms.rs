//! signature_algorithms and signature_algorithms_cert: the accepted signature schemes.
//! RFC 9846 4.3.3

use crate::code_points::SignatureScheme;
use crate::error::DecodeError;
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, SignatureScheme>, DecodeError> {
    List::read16(reader)?.not_empty()
}

pub(super) fn write(schemes: &List<'_, SignatureScheme>, w: &mut Writer<'_>) {
    schemes.write16(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_truncated_scheme_lists_are_refused() {
        assert_eq!(Reader::parse_all(&[0, 0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::parse_all(&[0, 1, 4], read), Err(DecodeError::Truncated));
    }
}
