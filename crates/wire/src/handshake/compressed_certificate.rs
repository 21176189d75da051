//! CompressedCertificate: a compressed Certificate message. RFC 8879 4
//!
//! This crate does not decompress. The claimed length must not be trusted when allocating memory.

use crate::code_points::{CertificateCompressionAlgorithm, HandshakeType};
use crate::error::DecodeError;
use crate::handshake::HandshakeMessage;
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// A compressed Certificate body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedCertificate<'a> {
    /// The compression algorithm.
    pub algorithm: CertificateCompressionAlgorithm,
    /// The length of the uncompressed Certificate body as claimed by the sender; under 2^24.
    pub uncompressed_length: u32,
    /// The compressed body; never empty.
    pub compressed_certificate_message: &'a [u8],
}

impl<'a> HandshakeMessage<'a> for CompressedCertificate<'a> {
    const TYPE: HandshakeType = HandshakeType::COMPRESSED_CERTIFICATE;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            algorithm: CertificateCompressionAlgorithm(reader.u16()?),
            uncompressed_length: reader.u24()?,
            compressed_certificate_message: not_empty(reader.opaque24()?)?,
        })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.u16(self.algorithm.0);
        w.u24(self.uncompressed_length);
        w.opaque24(self.compressed_certificate_message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_compressed_message_is_refused() {
        let empty = [0, 1, 0, 0, 9, 0, 0, 0];
        assert_eq!(CompressedCertificate::parse(&empty), Err(DecodeError::InvalidLength));
        let message = CompressedCertificate::parse(&[0, 2, 0, 1, 0, 0, 0, 1, 7]).unwrap();
        assert_eq!(message.algorithm, CertificateCompressionAlgorithm::BROTLI);
        assert_eq!(message.uncompressed_length, 256);
    }
}
