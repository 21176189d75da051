//! oid_filters: what a client's certificate must have. RFC 9846 4.3.5
//!
//! OIDs and values are DER and not opened here. Next: `certificate_authorities`.

use crate::reader::not_empty;
use crate::{DecodeError, Element, List, Reader, Writer};

/// A certificate extension and the values it must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OidFilter<'a> {
    /// The extension's OID in DER; never empty.
    pub certificate_extension_oid: &'a [u8],
    /// The values in DER.
    pub certificate_extension_values: &'a [u8],
}

impl<'a> Element<'a> for OidFilter<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            certificate_extension_oid: not_empty(reader.opaque8()?)?,
            certificate_extension_values: reader.opaque16()?,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.certificate_extension_oid);
        w.opaque16(self.certificate_extension_values);
    }
}

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, OidFilter<'a>>, DecodeError> {
    List::read16(reader)
}

pub(super) fn write(filters: &List<'_, OidFilter<'_>>, w: &mut Writer<'_>) {
    filters.write16(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_may_be_no_filter_but_none_without_an_oid() {
        assert!(Reader::all(&[0, 0], read).is_ok());
        assert_eq!(Reader::all(&[0, 3, 0, 0, 0], read), Err(DecodeError::InvalidLength));
    }
}
