//! ClientHello: the client's offer. RFC 9846 4.2.2, RFC 5246 7.4.1.2

mod encoding;
mod inner;

use crate::code_points::{
    CipherSuite, CompressionMethod, ExtensionType, HandshakeType, ProtocolVersion,
};
use crate::error::{DecodeError, EncodeError};
use crate::extension::{ClientExtensions, ExtensionBlock, PskBinder};
use crate::handshake::HandshakeMessage;
use crate::list::List;
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

pub use encoding::ClientHelloEncoding;
pub use inner::{InnerClientHelloEncoding, decode_inner_client_hello};

/// A ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHello<'a> {
    /// 0x0303, also if the client supports later versions; TLS 1.2 negotiates by this field.
    pub legacy_version: ProtocolVersion,
    /// The client's random.
    pub random: &'a [u8; 32],
    /// At most 32 bytes: the id of a TLS 1.2 session, or any value for middlebox compatibility.
    pub session_id: &'a [u8],
    /// The cipher suites, best first; at least one.
    pub cipher_suites: List<'a, CipherSuite>,
    /// The compression methods; always includes null.
    pub compression_methods: List<'a, CompressionMethod>,
    /// Whether there is an extension block, which TLS 1.2 allows clients to omit. If false,
    /// `extensions` is not written.
    pub extensions_present: bool,
    /// The extensions.
    pub extensions: ClientExtensions<'a>,
}

/// A ClientHello that offers nothing.
impl Default for ClientHello<'_> {
    fn default() -> Self {
        Self {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &[0; 32],
            session_id: &[],
            cipher_suites: List::new(&[]),
            compression_methods: List::new(&[]),
            extensions_present: false,
            extensions: ClientExtensions::default(),
        }
    }
}

/// The parts of a ClientHello that determine the protocol version. RFC 9846 4.3.1, RFC 7507 3
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientVersions<'a> {
    /// [`ClientHello::legacy_version`].
    pub legacy_version: ProtocolVersion,
    /// [`ClientHello::cipher_suites`], which may contain TLS_FALLBACK_SCSV.
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
    /// The offset of the binder list in this message, which is `message_length` bytes long, header
    /// included. `None` if there is no list.
    ///
    /// The binders are at the end of the message, so the offset follows from the message's length.
    #[must_use]
    pub fn binders_offset(&self, message_length: usize) -> Option<usize> {
        let offered = self.extensions.pre_shared_key.as_ref()?;
        message_length.checked_sub(offered.binders_length())
    }

    /// The truncated message over which the binders are computed. RFC 9846 4.3.11.2
    #[must_use]
    pub fn without_binders<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]> {
        message.get(..self.binders_offset(message.len())?)
    }

    /// Replaces the binders of this message by the real ones. The message is the last one in
    /// `out`, and was encoded with binders of the same lengths.
    pub fn replace_binders(
        &self,
        out: &mut Vec<u8>,
        binders: List<'_, PskBinder<'_>>,
    ) -> Result<(), EncodeError> {
        let total = out.len();
        let offset = self.binders_offset(total).ok_or(EncodeError::BinderLength)?;
        // The binders are written after the message first, then copied into place.
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
    /// The host name that the client sent. An IP address is ignored, since it is not a host name.
    /// RFC 6066 3
    #[must_use]
    pub fn host_name(&self) -> Option<&'a str> {
        let name = self.extensions.server_name?.host_name()?;
        if name.is_ip_address() { None } else { Some(name.as_str()) }
    }

    /// Reads only the version fields of this message body. The rest is not checked and may be
    /// malformed.
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
                supported_versions = Some(Reader::parse_all(content, List::read8)?);
            }
        }
        Ok(ClientVersions { legacy_version, cipher_suites, supported_versions })
    }

    /// The extensions of this message body, neither parsed nor checked for duplicates. A client
    /// uses this method to look up extensions that it has sent.
    pub fn extension_block(body: &'a [u8]) -> Result<ExtensionBlock<'a>, DecodeError> {
        let mut reader = Reader::new(body);
        Self::skip_to_extensions(&mut reader)?;
        ExtensionBlock::own(if reader.is_empty() { &[] } else { reader.opaque16()? })
    }

    /// Reads the fields of a message body before the extensions.
    pub(crate) fn skip_to_extensions(reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        reader.take(2 + 32)?;
        read_session_id(reader)?;
        // Cipher suites and compression methods.
        reader.opaque16()?;
        reader.opaque8()?;
        Ok(())
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
            // Clients without TLS 1.3 may end the message here. RFC 9846 4.2.2
            extensions_present: !reader.is_empty(),
            extensions: ClientExtensions::default(),
        };
        if hello.extensions_present {
            read_extensions(reader, &mut hello.extensions)?;
        }
        Ok(hello)
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        self.write_body_with(&ClientHelloEncoding::default(), w);
    }
}

/// A session id is at most 32 bytes long. RFC 5246 7.4.1.2
pub(super) fn read_session_id<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let session_id = reader.opaque8()?;
    if session_id.len() > 32 { Err(DecodeError::InvalidLength) } else { Ok(session_id) }
}

fn read_compression_methods<'a>(
    reader: &mut Reader<'a>,
) -> Result<List<'a, CompressionMethod>, DecodeError> {
    let methods = List::from_bytes(not_empty(reader.opaque8()?)?)?;
    // The null method must be offered. RFC 5246 7.4.1.2
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
    // The binders cover all bytes before them, so no extension may follow. RFC 9846 4.3.11
    let last = extensions.types().last();
    if extensions.pre_shared_key.is_some() && last != Some(ExtensionType::PRE_SHARED_KEY) {
        return Err(DecodeError::PskNotLast);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message body with these parts after version and random.
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
    fn versions_and_extensions_are_read_without_parsing_the_rest() {
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
    fn cipher_suites_must_be_present_and_complete() {
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
