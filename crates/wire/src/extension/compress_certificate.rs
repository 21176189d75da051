//! compress_certificate: the algorithms for compressing a Certificate message. RFC 8879 3
//!
//! This crate does not compress.

use crate::code_points::CertificateCompressionAlgorithm;
use crate::error::DecodeError;
use crate::list::List;
use crate::reader::Reader;
use crate::structure::{Encoding, Vector};
use crate::unique::first_duplicate;
use crate::writer::Writer;

type Algorithms<'a> = List<'a, CertificateCompressionAlgorithm>;

/// The encoding of a list that has each algorithm once.
pub(super) struct DistinctAlgorithms;

impl<'a> Encoding<'a, Algorithms<'a>> for DistinctAlgorithms {
    fn read(reader: &mut Reader<'a>) -> Result<Algorithms<'a>, DecodeError> {
        let algorithms: Algorithms<'_> = Vector::<1, 1>::read(reader)?;
        if first_duplicate(algorithms.iter().map(|algorithm| algorithm.0)).is_some() {
            return Err(DecodeError::DuplicateCompressionAlgorithm);
        }
        Ok(algorithms)
    }

    fn write(algorithms: &Algorithms<'a>, w: &mut Writer<'_>) {
        algorithms.write8(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8879 3
    #[test]
    fn empty_and_duplicate_lists_are_refused() {
        assert_eq!(Reader::parse_all(&[0], DistinctAlgorithms::read), Err(DecodeError::EmptyList));
        assert_eq!(
            Reader::parse_all(&[1, 0], DistinctAlgorithms::read),
            Err(DecodeError::Truncated)
        );
        assert_eq!(
            Reader::parse_all(&[4, 0, 1, 0, 1], DistinctAlgorithms::read),
            Err(DecodeError::DuplicateCompressionAlgorithm)
        );
    }
}
