//! certificate_authorities: the authorities that a side trusts. RFC 9846 4.3.4
//!
//! Names are DER and are not parsed here.

use crate::structure::{Vector, structure};

structure! {
    /// An authority's name in DER; never empty.
    DistinguishedName(&'a [u8] as Vector<2, 1>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::Encoding;
    use crate::{DecodeError, List, Reader};

    fn read(body: &[u8]) -> Result<List<'_, DistinguishedName<'_>>, DecodeError> {
        Reader::parse_all(body, Vector::<2, 1>::read)
    }

    /// RFC 9846 4.3.4
    #[test]
    fn no_names_and_empty_names_are_refused() {
        assert_eq!(read(&[0, 0]), Err(DecodeError::EmptyList));
        assert_eq!(read(&[0, 2, 0, 0]), Err(DecodeError::InvalidLength));
    }
}
