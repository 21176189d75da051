//! supported_groups: the groups a side can do, best first. RFC 9846 4.3.7, RFC 8422 5.1.1
//!
//! Which are secure is for the protocol. Next: `key_share`.

use crate::{DecodeError, List, NamedGroup, Reader, Writer};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, NamedGroup>, DecodeError> {
    List::read16(reader)?.not_empty()
}

pub(super) fn write(groups: &List<'_, NamedGroup>, w: &mut Writer<'_>) {
    groups.write16(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_and_half_a_group_are_refused() {
        assert_eq!(Reader::all(&[0, 0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::all(&[0, 1, 4], read), Err(DecodeError::Truncated));
    }
}
