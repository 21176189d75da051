//! ServerHello and HelloRetryRequest: the server's selection. RFC 9846 4.2.3 and 4.2.4,
//! RFC 5246 7.4.1.3
//!
//! The caller checks whether the selected values were offered.

use core::ops::Range;

use super::client_hello::read_session_id;
use crate::code_points::{
    CipherSuite, CompressionMethod, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion,
};
use crate::error::DecodeError;
use crate::extension::{KeyShareEntry, ServerHelloExtensions, ServerKeyShare};
use crate::handshake::HandshakeMessage;
use crate::list::Element;
use crate::reader::Reader;
use crate::writer::Writer;

/// A ServerHello of TLS 1.2 or 1.3, or a HelloRetryRequest. The random distinguishes the two
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHello<'a> {
    /// 0x0303 in both TLS 1.2 and 1.3.
    pub legacy_version: ProtocolVersion,
    /// The server's random, or [`ServerHello::RETRY_RANDOM`].
    pub random: &'a [u8; 32],
    /// TLS 1.3: an echo of the client's session id. TLS 1.2: the id of the session. At most 32
    /// bytes.
    pub session_id_echo: &'a [u8],
    /// The selected cipher suite.
    pub cipher_suite: CipherSuite,
    /// The compression method; the caller refuses any but null.
    pub compression_method: CompressionMethod,
    /// The extensions; TLS 1.2 leaves out an empty block.
    pub extensions: ServerHelloExtensions<'a>,
}

impl<'a> ServerHello<'a> {
    /// The random of a HelloRetryRequest: SHA-256 of "HelloRetryRequest". RFC 9846 4.2.3
    pub const RETRY_RANDOM: [u8; 32] = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8,
        0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,
        0x33, 0x9c,
    ];

    /// The last bytes of the random of a server that supports TLS 1.3 and negotiated TLS 1.2.
    /// RFC 9846 4.2.3
    pub const DOWNGRADE_TO_TLS12: [u8; 8] = *b"DOWNGRD\x01";

    /// The last bytes of the random of a server that supports TLS 1.2 and negotiated an earlier
    /// version. RFC 9846 4.2.3
    pub const DOWNGRADE_BELOW_TLS12: [u8; 8] = *b"DOWNGRD\x00";

    /// Whether this is a HelloRetryRequest.
    #[must_use]
    pub fn is_hello_retry_request(&self) -> bool {
        *self.random == Self::RETRY_RANDOM
    }

    /// The range of this message body for the confirmation of Encrypted ClientHello: the last eight
    /// bytes of the random, or in a HelloRetryRequest the contents of the extension. `None` if the
    /// extension is absent, or has another length. RFC 9849 7.2, 7.2.1
    #[must_use]
    pub fn confirmation(body: &[u8]) -> Option<Range<usize>> {
        let mut rest = Reader::new(body);
        rest.u16().ok()?;
        if *rest.array::<32>().ok()? != Self::RETRY_RANDOM {
            return Some(2 + 24..2 + 32);
        }
        read_session_id(&mut rest).ok()?;
        rest.take(2 + 1 + 2).ok()?;
        while !rest.is_empty() {
            let (kind, content) = (ExtensionType(rest.u16().ok()?), rest.opaque16().ok()?);
            if kind == ExtensionType::ENCRYPTED_CLIENT_HELLO {
                let end = body.len().saturating_sub(rest.remaining());
                let start = end.saturating_sub(content.len());
                return (content.len() == Self::CONFIRMATION_LENGTH).then_some(start..end);
            }
        }
        None
    }

    /// The length of the confirmation of Encrypted ClientHello. RFC 9849 5
    pub const CONFIRMATION_LENGTH: usize = 8;

    /// The server's key share; `None` in a HelloRetryRequest.
    #[must_use]
    pub const fn key_share(&self) -> Option<KeyShareEntry<'a>> {
        match self.extensions.key_share {
            Some(ServerKeyShare::Entry(entry)) => Some(entry),
            _ => None,
        }
    }

    /// The group that a HelloRetryRequest selects; `None` in a ServerHello.
    #[must_use]
    pub const fn key_share_group(&self) -> Option<NamedGroup> {
        match self.extensions.key_share {
            Some(ServerKeyShare::SelectedGroup(group)) => Some(group),
            _ => None,
        }
    }
}

impl<'a> HandshakeMessage<'a> for ServerHello<'a> {
    const TYPE: HandshakeType = HandshakeType::SERVER_HELLO;

    #[inline]
    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut hello = Self {
            legacy_version: ProtocolVersion(reader.u16()?),
            random: reader.array()?,
            session_id_echo: read_session_id(reader)?,
            cipher_suite: CipherSuite(reader.u16()?),
            compression_method: CompressionMethod(reader.u8()?),
            extensions: ServerHelloExtensions::default(),
        };
        if !reader.is_empty() {
            hello.extensions.fill(reader.opaque16()?)?;
        }
        // A ServerHello has a complete key share, a HelloRetryRequest only a group. RFC 9846 4.3.8
        match (hello.extensions.key_share, hello.is_hello_retry_request()) {
            (Some(ServerKeyShare::Entry(_)), true) => Err(DecodeError::TrailingData),
            (Some(ServerKeyShare::SelectedGroup(_)), false) => Err(DecodeError::Truncated),
            _ => Ok(hello),
        }
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.u16(self.legacy_version.0);
        w.bytes(self.random);
        w.opaque8(self.session_id_echo);
        w.u16(self.cipher_suite.0);
        w.u8(self.compression_method.0);
        if !self.extensions.is_empty() {
            self.extensions.write(w);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(random: &[u8; 32], rest: &[u8]) -> Vec<u8> {
        [&[3, 3][..], random, rest].concat()
    }

    #[test]
    fn a_tls12_hello_may_end_before_the_extensions() {
        let bytes = body(&[1; 32], &[0, 0xc0, 0x2f, 0]);
        let hello = ServerHello::parse(&bytes).unwrap();
        assert!(hello.extensions.is_empty());
        assert!(!hello.is_hello_retry_request());
    }

    #[test]
    fn a_retry_has_a_group_and_a_hello_a_share() {
        let group = [0, 0x13, 1, 0, 0, 6, 0, 51, 0, 2, 0, 0x1d];
        let share = [0, 0x13, 1, 0, 0, 9, 0, 51, 0, 5, 0, 0x1d, 0, 1, 7];
        let retry = body(&ServerHello::RETRY_RANDOM, &group);
        assert_eq!(ServerHello::parse(&retry).unwrap().key_share_group(), Some(NamedGroup::X25519));
        let hello = body(&[1; 32], &share);
        assert_eq!(ServerHello::parse(&hello).unwrap().key_share().unwrap().key_exchange, [7]);

        let retry = body(&ServerHello::RETRY_RANDOM, &share);
        assert_eq!(ServerHello::parse(&retry), Err(DecodeError::TrailingData));
        let hello = body(&[1; 32], &group);
        assert_eq!(ServerHello::parse(&hello), Err(DecodeError::Truncated));
    }

    /// RFC 9849 7.2, 7.2.1
    #[test]
    fn the_confirmation_is_in_the_random_or_in_the_extension_of_a_retry() {
        let extensions = [0, 0x13, 1, 0, 0, 18, 0, 51, 0, 2, 0, 0x1d, 0xfe, 0x0d, 0, 8];
        let rest = [&extensions[..], &[7; 8]].concat();
        let retry = body(&ServerHello::RETRY_RANDOM, &rest);
        let place = ServerHello::confirmation(&retry).unwrap();
        assert_eq!(retry[place.clone()], [7; 8]);
        assert_eq!(place.end, retry.len());
        assert!(ServerHello::parse(&retry).is_ok());
        assert_eq!(ServerHello::confirmation(&body(&[1; 32], &rest)), Some(26..34));
        let without = body(&ServerHello::RETRY_RANDOM, &[0, 0x13, 1, 0, 0, 0]);
        assert_eq!(ServerHello::confirmation(&without), None);
        let short = [&extensions[..5], &[11], &extensions[6..15], &[7], &[7; 7]].concat();
        assert_eq!(ServerHello::confirmation(&body(&ServerHello::RETRY_RANDOM, &short)), None);
        for length in 0..retry.len() {
            assert_eq!(ServerHello::confirmation(&retry[..length]), None);
        }
    }

    #[test]
    fn a_long_session_id_is_refused() {
        let rest = [&[33][..], &[0; 33], &[0x13, 1, 0]].concat();
        assert_eq!(ServerHello::parse(&body(&[1; 32], &rest)), Err(DecodeError::InvalidLength));
    }

    #[test]
    fn an_extension_may_not_appear_twice() {
        let rest = [0, 0x13, 1, 0, 0, 8, 0, 23, 0, 0, 0, 23, 0, 0];
        assert_eq!(
            ServerHello::parse(&body(&[1; 32], &rest)),
            Err(DecodeError::DuplicateExtension(crate::ExtensionType::EXTENDED_MASTER_SECRET))
        );
    }
}
