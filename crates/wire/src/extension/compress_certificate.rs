//! compress_certificate: how a Certificate message may be compressed. RFC 8879 3
//!
//! No compression happens in this crate. Next: [`crate::CompressedCertificate`].

use crate::unique::first_duplicate;
use crate::{CertificateCompressionAlgorithm, DecodeError, List, Reader, Writer};

type Algorithms<'a> = List<'a, CertificateCompressionAlgorithm>;

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Algorithms<'a>, DecodeError> {
    let algorithms = Algorithms::read8(reader)?.not_empty()?;
    if first_duplicate(algorithms.iter().map(|algorithm| algorithm.0)).is_some() {
        return Err(DecodeError::DuplicateCompressionAlgorithm);
    }
    Ok(algorithms)
}

pub(super) fn write(algorithms: &Algorithms<'_>, w: &mut Writer<'_>) {
    algorithms.write8(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_and_one_twice_are_refused() {
        assert_eq!(Reader::all(&[0], read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::all(&[1, 0], read), Err(DecodeError::Truncated));
        assert_eq!(
            Reader::all(&[4, 0, 1, 0, 1], read),
            Err(DecodeError::DuplicateCompressionAlgorithm)
        );
    }
}
