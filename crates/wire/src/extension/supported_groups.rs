//! supported_groups: the groups that a side supports, best first. RFC 9846 4.3.7, RFC 8422 5.1.1

use crate::code_points::NamedGroup;
use crate::error::DecodeError;
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, NamedGroup>, DecodeError> {
    List::read16(reader)?.not_empty()
}

pub(super) fn write(groups: &List<'_, NamedGroup>, w: &mut Writer<'_>) {
    groups.write16(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8422 5.1.1
    #[test]
    fn empty_and_truncated_lists_are_refused() {
        assert_eq!(Reader::parse_all(&[0, 0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::parse_all(&[0, 1, 4], read), Err(DecodeError::Truncated));
    }
}
