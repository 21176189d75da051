//! ServerKeyExchange of TLS 1.2, with named curves only. RFC 8422 5.4
//!
//! The signature is verified by the caller.

use super::message;
use std::ops::Range;

use crate::code_points::{EcCurveType, NamedGroup, SignatureScheme};
use crate::error::{DecodeError, EncodeError};
use crate::handshake::HandshakeMessage;
use crate::list::Element;
use crate::reader::{Reader, not_empty};
use crate::structure::{Vector, structure};
use crate::writer::{Writer, encode_signed};

structure! {
    /// The server's signed ECDHE parameters.
    ServerKeyExchange {
        /// The curve and public point.
        params: ServerEcdhParams<'a>,
        /// The signature scheme.
        algorithm: SignatureScheme,
        /// The signature over both randoms and the params.
        signature: &'a [u8] as Vector<2, 0>,
    }
}
message! { ServerKeyExchange<'a> = SERVER_KEY_EXCHANGE }

impl ServerKeyExchange<'_> {
    /// The range of the signed params in the body.
    #[must_use]
    pub const fn signed_range(&self) -> Range<usize> {
        0..self.params.encoded_length()
    }

    /// Appends a message with a signature that `sign` appends in place. On an error, `out` is
    /// restored.
    ///
    /// # Errors
    /// The errors of `sign`; [`EncodeError::TooLong`] for a signature of more than 65535 bytes, or
    /// a point of more than 255.
    pub fn encode_signed<E: From<EncodeError>>(
        params: &ServerEcdhParams<'_>,
        algorithm: SignatureScheme,
        sign: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        out: &mut Vec<u8>,
    ) -> Result<(), E> {
        let before = |w: &mut Writer<'_>| {
            params.write(w);
            w.u16(algorithm.0);
        };
        encode_signed(Self::TYPE, before, sign, out)
    }
}

/// A named curve and a public point on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerEcdhParams<'a> {
    /// The curve.
    pub named_curve: NamedGroup,
    /// The public point; never empty.
    pub public: &'a [u8],
}

impl ServerEcdhParams<'_> {
    /// The encoding of the params up to the point: curve type, curve, and the point's length.
    #[must_use]
    pub fn head(&self) -> [u8; 4] {
        let [high, low] = self.named_curve.0.to_be_bytes();
        // A point is far shorter than the maximum of a one-byte length.
        let [.., length] = self.public.len().to_be_bytes();
        [EcCurveType::NAMED_CURVE.0, high, low, length]
    }

    /// The length of the encoded params.
    #[must_use]
    pub const fn encoded_length(&self) -> usize {
        self.public.len().saturating_add(4)
    }
}

/// The params as they appear in the message and under the signature.
impl<'a> Element<'a> for ServerEcdhParams<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        // Explicit curves are no longer allowed. RFC 8422 5.4
        if reader.u8()? != EcCurveType::NAMED_CURVE.0 {
            return Err(DecodeError::InvalidCurveType);
        }
        Ok(Self { named_curve: NamedGroup(reader.u16()?), public: not_empty(reader.opaque8()?)? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u8(EcCurveType::NAMED_CURVE.0);
        w.u16(self.named_curve.0);
        w.opaque8(self.public);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encode_signed_equals_encode() {
        let algorithm = SignatureScheme::ED25519;
        let params = ServerEcdhParams { named_curve: NamedGroup::X25519, public: &[4, 5] };
        let (mut before, mut made) = (Vec::new(), Vec::new());
        let signature = &[1, 2];
        ServerKeyExchange { params, algorithm, signature }.encode(&mut before).unwrap();
        let sign = |out: &mut Vec<u8>| {
            out.extend_from_slice(signature);
            Ok::<_, EncodeError>(())
        };
        ServerKeyExchange::encode_signed(&params, algorithm, sign, &mut made).unwrap();
        assert_eq!(made, before);
    }

    #[test]
    fn only_named_curves_with_a_point_are_read() {
        let body = [3, 0, 0x17, 1, 4, 4, 3, 0, 1, 9];
        let message = ServerKeyExchange::parse(&body).unwrap();
        assert_eq!(message.params.named_curve, NamedGroup::SECP256R1);
        assert_eq!(&body[message.signed_range()], [3, 0, 0x17, 1, 4]);
        assert_eq!(message.params.head(), [3, 0, 0x17, 1]);

        let explicit = [1, 0, 0x17, 1, 4, 4, 3, 0, 1, 9];
        assert_eq!(ServerKeyExchange::parse(&explicit), Err(DecodeError::InvalidCurveType));
        let pointless = [3, 0, 0x17, 0, 4, 3, 0, 1, 9];
        assert_eq!(ServerKeyExchange::parse(&pointless), Err(DecodeError::InvalidLength));
    }
}
