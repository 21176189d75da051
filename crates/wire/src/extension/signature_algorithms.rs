//! signature_algorithms and signature_algorithms_cert: how signatures may be made. RFC 9846 4.3.3
//!
//! Which of them fit a key is for the protocol. Next: [`crate::CertificateVerify`].

use crate::{DecodeError, List, Reader, SignatureScheme, Writer};

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
    fn none_and_half_a_scheme_are_refused() {
        assert_eq!(Reader::all(&[0, 0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::all(&[0, 1, 4], read), Err(DecodeError::Truncated));
    }
}
