//! certificate_authorities: the authorities that a side trusts. RFC 9846 4.3.4
//!
//! Names are DER and are not parsed here.

use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// An authority's name in DER; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistinguishedName<'a>(pub &'a [u8]);

impl<'a> Element<'a> for DistinguishedName<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(not_empty(reader.opaque16()?)?))
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque16(self.0);
    }
}

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<List<'a, DistinguishedName<'a>>, DecodeError> {
    List::read16(reader)?.not_empty()
}

pub(super) fn write(names: &List<'_, DistinguishedName<'_>>, w: &mut Writer<'_>) {
    names.write16(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9846 4.3.4
    #[test]
    fn no_names_and_empty_names_are_refused() {
        assert_eq!(Reader::parse_all(&[0, 0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::parse_all(&[0, 2, 0, 0], read), Err(DecodeError::InvalidLength));
    }
}
