//! The four-byte header of handshake messages. RFC 9846 4
//!
//! The code that joins fragments enforces the maximum length of a message.

use crate::code_points::HandshakeType;

/// The header of a handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// The type of the message.
    pub handshake_type: HandshakeType,
    /// The length of the body; under 2^24.
    pub length: u32,
}

impl MessageHeader {
    /// The length of a header.
    pub const LENGTH: usize = 4;

    /// Splits a header into its fields; any four bytes are a header.
    #[must_use]
    pub const fn parse(bytes: &[u8; Self::LENGTH]) -> Self {
        let &[handshake_type, a, b, c] = bytes;
        Self {
            handshake_type: HandshakeType(handshake_type),
            length: u32::from_be_bytes([0, a, b, c]),
        }
    }
}

/// The header of the synthetic message that replaces the first ClientHello in the transcript after
/// a HelloRetryRequest; the hash of that ClientHello follows. RFC 9846 4.1
#[must_use]
pub const fn message_hash_header(hash_length: u8) -> [u8; MessageHeader::LENGTH] {
    [HandshakeType::MESSAGE_HASH.0, 0, 0, hash_length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_a_type_and_a_length() {
        let header = MessageHeader::parse(&[11, 1, 2, 3]);
        assert_eq!(header.handshake_type, HandshakeType::CERTIFICATE);
        assert_eq!(header.length, 0x01_0203);
        assert_eq!(message_hash_header(48), [254, 0, 0, 48]);
    }
}
