//! CompressedCertificate: a compressed Certificate message. RFC 8879 4
//!
//! This crate does not decompress. The claimed length must not be trusted when allocating memory.

use super::message;
use crate::code_points::CertificateCompressionAlgorithm;
use crate::structure::{U24, Vector, structure};

structure! {
    /// A compressed Certificate body.
    CompressedCertificate {
        /// The compression algorithm.
        algorithm: CertificateCompressionAlgorithm,
        /// The length of the uncompressed Certificate body as claimed by the sender; under 2^24.
        uncompressed_length: u32 as U24,
        /// The compressed body; never empty.
        compressed_certificate_message: &'a [u8] as Vector<3, 1>,
    }
}
message! { CompressedCertificate<'a> = COMPRESSED_CERTIFICATE }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    #[test]
    fn an_empty_compressed_message_is_refused() {
        let empty = [0, 1, 0, 0, 9, 0, 0, 0];
        assert_eq!(CompressedCertificate::parse(&empty), Err(DecodeError::InvalidLength));
        let message = CompressedCertificate::parse(&[0, 2, 0, 1, 0, 0, 0, 1, 7]).unwrap();
        assert_eq!(message.algorithm, CertificateCompressionAlgorithm::BROTLI);
        assert_eq!(message.uncompressed_length, 256);
    }
}
