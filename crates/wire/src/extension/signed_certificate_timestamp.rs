//! signed_certificate_timestamp: Certificate Transparency timestamps. RFC 6962 3.3
//!
//! Timestamps are not parsed here.

use crate::structure::{Vector, structure};

structure! {
    /// One timestamp as serialized by a log; never empty.
    SerializedSct(&'a [u8] as Vector<2, 1>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::Encoding;
    use crate::{DecodeError, List, Reader};

    fn read(body: &[u8]) -> Result<List<'_, SerializedSct<'_>>, DecodeError> {
        Reader::parse_all(body, Vector::<2, 1>::read)
    }

    #[test]
    fn no_timestamps_and_empty_ones_are_refused() {
        assert_eq!(read(&[0, 0]), Err(DecodeError::EmptyList));
        assert_eq!(read(&[0, 2, 0, 0]), Err(DecodeError::InvalidLength));
    }
}
