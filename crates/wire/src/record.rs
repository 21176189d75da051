//! The five-byte record header.
//!
//! The record layer checks whether a length or a type is allowed.

use crate::code_points::{ContentType, ProtocolVersion};

/// The header of a record. RFC 9846 5.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The content type; application_data for a protected TLS 1.3 record.
    pub content_type: ContentType,
    /// 0x0303, or 0x0301 for a first ClientHello. Ignored in TLS 1.3.
    pub legacy_record_version: ProtocolVersion,
    /// The length of the fragment that follows.
    pub length: u16,
}

impl RecordHeader {
    /// The length of a header.
    pub const LENGTH: usize = 5;

    /// Splits a header into its fields; any five bytes are a header.
    #[must_use]
    pub const fn parse(bytes: &[u8; Self::LENGTH]) -> Self {
        let &[content_type, major, minor, high, low] = bytes;
        Self {
            content_type: ContentType(content_type),
            legacy_record_version: ProtocolVersion(u16::from_be_bytes([major, minor])),
            length: u16::from_be_bytes([high, low]),
        }
    }

    /// The header as bytes.
    #[must_use]
    pub const fn encode(self) -> [u8; Self::LENGTH] {
        let [major, minor] = self.legacy_record_version.0.to_be_bytes();
        let [high, low] = self.length.to_be_bytes();
        [self.content_type.0, major, minor, high, low]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_five_bytes_both_ways() {
        let bytes = [22, 3, 1, 0x02, 0x05];
        let header = RecordHeader::parse(&bytes);
        assert_eq!(header.content_type, ContentType::HANDSHAKE);
        assert_eq!(header.legacy_record_version, ProtocolVersion::TLS1_0);
        assert_eq!(header.length, 0x0205);
        assert_eq!(header.encode(), bytes);
    }
}
