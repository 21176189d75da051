//! CertificateVerify: the proof that a certificate's key is at hand. RFC 9846 4.5.2, RFC 5246 7.4.8
//!
//! What is signed, and whether it verifies, is for the protocol. Next: [`crate::Finished`].

use crate::{DecodeError, HandshakeMessage, HandshakeType, Reader, SignatureScheme, Writer};

/// A signature over the handshake so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateVerify<'a> {
    /// How it is signed.
    pub algorithm: SignatureScheme,
    /// The signature.
    pub signature: &'a [u8],
}

impl<'a> HandshakeMessage<'a> for CertificateVerify<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE_VERIFY;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { algorithm: SignatureScheme(reader.u16()?), signature: reader.opaque16()? })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.u16(self.algorithm.0);
        w.opaque16(self.signature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_as_long_as_it_says() {
        assert_eq!(CertificateVerify::parse(&[4, 3, 0, 2, 1]), Err(DecodeError::Truncated));
        assert_eq!(CertificateVerify::parse(&[4, 3, 0, 1, 1, 1]), Err(DecodeError::TrailingData));
        let verify = CertificateVerify::parse(&[4, 3, 0, 1, 9]).unwrap();
        assert_eq!(verify.algorithm, SignatureScheme::ECDSA_SECP256R1_SHA256);
        assert_eq!(verify.signature, [9]);
    }
}
