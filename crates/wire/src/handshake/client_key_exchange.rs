//! ClientKeyExchange of TLS 1.2, with elliptic curves only. RFC 8422 5.7
//!
//! The key exchange checks whether the point is on the curve.

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::handshake::HandshakeMessage;
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// The client's public ECDHE point.
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

    /// RFC 8422 5.7
    #[test]
    fn an_empty_point_is_refused() {
        assert_eq!(ClientKeyExchange::parse(&[0]), Err(DecodeError::InvalidLength));
        assert_eq!(ClientKeyExchange::parse(&[1, 4, 4]), Err(DecodeError::TrailingData));
    }
}
