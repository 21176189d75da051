//! CertificateVerify: proves possession of the certificate's private key. RFC 9846 4.5.2,
//! RFC 5246 7.4.8
//!
//! The signature is verified by the caller.

use super::message;
use crate::code_points::SignatureScheme;
use crate::error::EncodeError;
use crate::handshake::HandshakeMessage;
use crate::structure::{Vector, structure};
use crate::writer::encode_signed;

structure! {
    /// A signature over the handshake transcript.
    CertificateVerify {
        /// The signature scheme.
        algorithm: SignatureScheme,
        /// The signature.
        signature: &'a [u8] as Vector<2, 0>,
    }
}
message! { CertificateVerify<'a> = CERTIFICATE_VERIFY }

impl CertificateVerify<'_> {
    /// Appends a message with a signature that `sign` appends in place. On an error, `out` is
    /// restored.
    ///
    /// # Errors
    /// The errors of `sign`; [`EncodeError::TooLong`] for a signature of more than 65535 bytes.
    pub fn encode_signed<E: From<EncodeError>>(
        algorithm: SignatureScheme,
        sign: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        out: &mut Vec<u8>,
    ) -> Result<(), E> {
        encode_signed(Self::TYPE, |w| w.u16(algorithm.0), sign, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DecodeError;

    #[test]
    fn a_signature_has_the_declared_length() {
        assert_eq!(CertificateVerify::parse(&[4, 3, 0, 2, 1]), Err(DecodeError::Truncated));
        assert_eq!(CertificateVerify::parse(&[4, 3, 0, 1, 1, 1]), Err(DecodeError::TrailingData));
        let verify = CertificateVerify::parse(&[4, 3, 0, 1, 9]).unwrap();
        assert_eq!(verify.algorithm, SignatureScheme::ECDSA_SECP256R1_SHA256);
        assert_eq!(verify.signature, [9]);
    }

    #[test]
    fn encode_signed_equals_encode() {
        let algorithm = SignatureScheme::ED25519;
        let (mut before, mut made) = (vec![7], vec![7]);
        CertificateVerify { algorithm, signature: &[1, 2] }.encode(&mut before).unwrap();
        let sign = |out: &mut Vec<u8>| {
            out.extend_from_slice(&[1, 2]);
            Ok::<_, EncodeError>(())
        };
        CertificateVerify::encode_signed(algorithm, sign, &mut made).unwrap();
        assert_eq!(made, before);

        // A failure, or a signature that is too long, restores the buffer.
        for length in [1, 0x1_0000] {
            let sign = |out: &mut Vec<u8>| {
                out.resize(out.len() + length, 5);
                if length == 1 { Err(EncodeError::TooLong) } else { Ok(()) }
            };
            let refused = CertificateVerify::encode_signed(algorithm, sign, &mut made);
            assert_eq!(refused, Err(EncodeError::TooLong));
            assert_eq!(made, before);
        }
    }
}
