//! ClientKeyExchange of TLS 1.2, over elliptic curves only. RFC 8422 5.7
//!
//! Whether the point is one is for the cryptography. Next: [`crate::ServerKeyExchange`].

use crate::reader::not_empty;
use crate::{DecodeError, HandshakeMessage, HandshakeType, Reader, Writer};

/// The client's half of the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientKeyExchange<'a> {
    /// The public point; never empty.
    pub ecdh_public: &'a [u8],
}

impl<'a> HandshakeMessage<'a> for ClientKeyExchange<'a> {
    const TYPE: HandshakeType = HandshakeType::CLIENT_KEY_EXCHANGE;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { ecdh_public: not_empty(reader.opaque8()?)? })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.opaque8(self.ecdh_public);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_point_is_refused() {
        assert_eq!(ClientKeyExchange::parse(&[0]), Err(DecodeError::InvalidLength));
        assert_eq!(ClientKeyExchange::parse(&[1, 4, 4]), Err(DecodeError::TrailingData));
    }
}
