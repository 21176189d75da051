//! ClientHello: what a client can do. RFC 9846 4.2.2, RFC 5246 7.4.1.2
//!
//! What is made of the offer is for the protocol. Next: `client_hello_encoding`, the ways to write one.

use crate::reader::not_empty;
use crate::{
    CipherSuite, ClientExtensions, CompressionMethod, DecodeError, EncodeError, ExtensionBlock,
    ExtensionType, HandshakeMessage, HandshakeType, List, ProtocolVersion, PskBinder, Reader,
    Writer,
};

/// A ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHello<'a> {
    /// 0x0303, whatever the client can do beyond it; TLS 1.2 negotiates by it.
    pub legacy_version: ProtocolVersion,
    /// The client's random.
    pub random: &'a [u8; 32],
    /// At most 32 bytes: a TLS 1.2 session, or any value for middleboxes.
    pub session_id: &'a [u8],
    /// The suites, best first; at least one.
    pub cipher_suites: List<'a, CipherSuite>,
    /// At least null.
    pub compression_methods: List<'a, CompressionMethod>,
    /// Whether there is an extension block at all: TLS 1.2 can do without. If not, `extensions` is not written.
    pub extensions_present: bool,
    /// The extensions.
    pub extensions: ClientExtensions<'a>,
}

/// The parts of a ClientHello that say which version is spoken. RFC 9846 4.3.1, RFC 7507 3
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientVersions<'a> {
    /// [`ClientHello::legacy_version`].
    pub legacy_version: ProtocolVersion,
    /// [`ClientHello::cipher_suites`], among which a fallback is told.
    pub cipher_suites: List<'a, CipherSuite>,
    /// [`ClientExtensions::supported_versions`].
    pub supported_versions: Option<List<'a, ProtocolVersion>>,
}

impl<'a> From<&ClientHello<'a>> for ClientVersions<'a> {
    fn from(hello: &ClientHello<'a>) -> Self {
        Self {
            legacy_version: hello.legacy_version,
            cipher_suites: hello.cipher_suites,
            supported_versions: hello.extensions.supported_versions,
        }
    }
}

impl ClientHello<'_> {
    /// Where the list of binders begins, if there is one, in the whole message (header included) of this length.
    ///
    /// The binders are the end of the message, so its length is enough to know.
    #[must_use]
    pub fn binders_offset(&self, message_length: usize) -> Option<usize> {
        let offered = self.extensions.pre_shared_key.as_ref()?;
        message_length.checked_sub(offered.binders_length())
    }

    /// The part of this whole message that the binders are computed over. RFC 9846 4.3.11.2
    #[must_use]
    pub fn without_binders<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]> {
        message.get(..self.binders_offset(message.len())?)
    }

    /// Puts the real binders into this message, which was encoded last into `out` with binders of the same lengths.
    pub fn replace_binders(
        &self,
        out: &mut Vec<u8>,
        binders: List<'_, PskBinder<'_>>,
    ) -> Result<(), EncodeError> {
        let total = out.len();
        let offset = self.binders_offset(total).ok_or(EncodeError::BinderLength)?;
        // Behind the message, then into their place.
        let mut w = Writer::new(out);
        binders.write16(&mut w);
        let written = w.finish();
        let fits = written.is_ok() && out.len().checked_sub(total) == total.checked_sub(offset);
        if fits {
            out.copy_within(total.., offset);
        }
        out.truncate(total);
        if fits { Ok(()) } else { Err(EncodeError::BinderLength) }
    }
}

impl<'a> ClientHello<'a> {
    /// What this body of a message says about versions. Nothing else in it is looked at, and may be malformed.
    pub fn versions(body: &'a [u8]) -> Result<ClientVersions<'a>, DecodeError> {
        let mut reader = Reader::new(body);
        let legacy_version = ProtocolVersion(reader.u16()?);
        reader.take(32)?;
        read_session_id(&mut reader)?;
        let cipher_suites = List::read16(&mut reader)?;
        reader.opaque8()?;
        let mut extensions = if reader.is_empty() { reader } else { reader.vec16()? };
        let mut supported_versions = None;
        while supported_versions.is_none() && !extensions.is_empty() {
            let (kind, content) = (ExtensionType(extensions.u16()?), extensions.opaque16()?);
            if kind == ExtensionType::SUPPORTED_VERSIONS {
                supported_versions = Some(Reader::all(content, List::read8)?);
            }
        }
        Ok(ClientVersions { legacy_version, cipher_suites, supported_versions })
    }

    /// The extensions in this body of a message, unopened and not looked through for duplicates: for a client that asks what
    /// it has sent.
    pub fn extension_block(body: &'a [u8]) -> Result<ExtensionBlock<'a>, DecodeError> {
        let mut reader = Reader::new(body);
        reader.take(2 + 32)?;
        read_session_id(&mut reader)?;
        // Suites and compression methods.
        reader.opaque16()?;
        reader.opaque8()?;
        ExtensionBlock::own(if reader.is_empty() { &[] } else { reader.opaque16()? })
    }
}

impl<'a> HandshakeMessage<'a> for ClientHello<'a> {
    const TYPE: HandshakeType = HandshakeType::CLIENT_HELLO;

    #[inline]
    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut hello = Self {
            legacy_version: ProtocolVersion(reader.u16()?),
            random: reader.array()?,
            session_id: read_session_id(reader)?,
            cipher_suites: List::read16(reader)?.not_empty()?,
            compression_methods: read_compression_methods(reader)?,
            // Clients before TLS 1.3 may end here. RFC 9846 4.2.2
            extensions_present: !reader.is_empty(),
            extensions: ClientExtensions::default(),
        };
        if hello.extensions_present {
            read_extensions(reader, &mut hello.extensions)?;
        }
        Ok(hello)
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        self.write_body_with(&super::ClientHelloEncoding::default(), w);
    }
}

/// A session id has at most 32 bytes. RFC 5246 7.4.1.2
pub(super) fn read_session_id<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let session_id = reader.opaque8()?;
    if session_id.len() > 32 { Err(DecodeError::InvalidLength) } else { Ok(session_id) }
}

fn read_compression_methods<'a>(
    reader: &mut Reader<'a>,
) -> Result<List<'a, CompressionMethod>, DecodeError> {
    let methods = List::from_bytes(not_empty(reader.opaque8()?)?)?;
    // null is always offered. RFC 5246 7.4.1.2
    if methods.contains(CompressionMethod::NULL) {
        Ok(methods)
    } else {
        Err(DecodeError::InvalidCompressionMethod)
    }
}

#[inline]
fn read_extensions<'a>(
    reader: &mut Reader<'a>,
    extensions: &mut ClientExtensions<'a>,
) -> Result<(), DecodeError> {
    extensions.fill(reader.opaque16()?)?;
    // The binders cover all that comes before them, so nothing may come after. RFC 9846 4.3.11
    let last = extensions.types().last();
    if extensions.pre_shared_key.is_some() && last != Some(ExtensionType::PRE_SHARED_KEY) {
        return Err(DecodeError::PskNotLast);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body with these parts after version and random.
    fn body(parts: &[&[u8]]) -> Vec<u8> {
        [&[3, 3][..], &[9; 32], &parts.concat()].concat()
    }

    fn error(parts: &[&[u8]]) -> DecodeError {
        ClientHello::parse(&body(parts)).unwrap_err()
    }

    const SUITES: &[u8] = &[0, 2, 0x13, 1];
    const NULL: &[u8] = &[1, 0];

    #[test]
    fn a_hello_may_end_before_the_extensions() {
        let without = body(&[&[0], SUITES, NULL]);
        assert!(!ClientHello::parse(&without).unwrap().extensions_present);
        let with = body(&[&[0], SUITES, NULL, &[0, 0]]);
        assert!(ClientHello::parse(&with).unwrap().extensions_present);
    }

    #[test]
    fn versions_and_sent_extensions_are_found_ahead_of_the_rest() {
        let unlike = [0xff; 3];
        let versions: &[u8] = &[0, 43, 0, 5, 4, 3, 4, 3, 3];
        let garbage = [&[0, 10, 0, 3][..], &unlike].concat();
        for (before, after) in [(&[][..], &garbage[..]), (&garbage, &[])] {
            let all = [before, versions, after].concat();
            let length = [0, u8::try_from(all.len()).unwrap()];
            let whole = body(&[&[0], SUITES, NULL, &length, &all]);
            assert!(ClientHello::parse(&whole).is_err());
            let found = ClientHello::versions(&whole).unwrap();
            let offered = found.supported_versions.unwrap();
            assert!(offered.iter().eq([ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2]));
            assert_eq!(found.legacy_version, ProtocolVersion::TLS1_2);
            assert!(found.cipher_suites.contains(CipherSuite::TLS_AES_128_GCM_SHA256));
            let sent = ClientHello::extension_block(&whole).unwrap();
            assert!(sent.contains(ExtensionType::SUPPORTED_VERSIONS));
            assert!(sent.contains(ExtensionType::SUPPORTED_GROUPS));
            assert!(!sent.contains(ExtensionType::COOKIE));
        }
        let without = body(&[&[0], SUITES, NULL]);
        let parsed = ClientHello::parse(&without).unwrap();
        assert_eq!(ClientHello::versions(&without), Ok(ClientVersions::from(&parsed)));
        assert_eq!(ClientHello::extension_block(&without).unwrap().types().count(), 0);
        for length in 0..without.len() {
            assert!(ClientHello::versions(&without[..length]).is_err());
            assert!(ClientHello::extension_block(&without[..length]).is_err());
        }
    }

    #[test]
    fn nothing_may_follow_the_extensions() {
        assert_eq!(error(&[&[0], SUITES, NULL, &[0, 0, 0]]), DecodeError::TrailingData);
        assert_eq!(error(&[&[0], SUITES, NULL, &[0]]), DecodeError::Truncated);
    }

    #[test]
    fn a_session_id_of_more_than_32_bytes_is_refused() {
        let session_id = [&[33][..], &[1; 33]].concat();
        assert_eq!(error(&[&session_id, SUITES, NULL]), DecodeError::InvalidLength);
    }

    #[test]
    fn suites_must_be_there_and_whole() {
        assert_eq!(error(&[&[0], &[0, 0], NULL]), DecodeError::EmptyList);
        assert_eq!(error(&[&[0], &[0, 3, 0x13, 1, 0x13], NULL]), DecodeError::Truncated);
    }

    #[test]
    fn null_compression_must_be_offered() {
        assert_eq!(error(&[&[0], SUITES, &[0]]), DecodeError::InvalidLength);
        assert_eq!(error(&[&[0], SUITES, &[1, 1]]), DecodeError::InvalidCompressionMethod);
        assert!(ClientHello::parse(&body(&[&[0], SUITES, &[2, 1, 0]])).is_ok());
    }

    #[test]
    fn pre_shared_key_must_be_last() {
        let binder = [&[0, 33, 32][..], &[0; 32]].concat();
        let psk = [&[0, 41, 0, 44, 0, 7, 0, 1, b'i', 0, 0, 0, 0][..], &binder].concat();
        let hello = |extensions: &[&[u8]]| {
            let block = extensions.concat();
            let length = u16::try_from(block.len()).unwrap().to_be_bytes();
            body(&[&[0], SUITES, NULL, &length, &block])
        };
        let last = hello(&[&[0, 23, 0, 0], &psk]);
        let parsed = ClientHello::parse(&last).unwrap();
        let partial = parsed.without_binders(&last).unwrap();
        assert_eq!(partial.len() + binder.len(), last.len());

        let first = hello(&[&psk, &[0, 23, 0, 0]]);
        let refusal = ClientHello::parse(&first).unwrap_err();
        assert_eq!(refusal, DecodeError::PskNotLast);
        assert_eq!(refusal.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }
}
