//! The inner ClientHello of Encrypted ClientHello: its encoding before encryption, in which
//! extensions may be replaced by references to the outer ClientHello. RFC 9849 5.1

use core::ops::Range;

use super::encoding::Form;
use crate::code_points::{ExtensionType, HandshakeType};
use crate::error::{DecodeError, EncodeError};
use crate::extension::{
    ClientExtensions, EncryptedClientHello, ExtensionBlock, read_outer_extensions,
};
use crate::handshake::{ClientHello, ClientHelloEncoding, HandshakeMessage};
use crate::reader::Reader;
use crate::writer::Writer;

/// The options for encoding an inner ClientHello.
#[derive(Clone, Copy, Debug)]
pub struct InnerClientHelloEncoding {
    encoding: ClientHelloEncoding,
    /// The extensions that are equal in both ClientHellos: a set of bits, as that of the present
    /// extensions.
    shared: u64,
}

impl InnerClientHelloEncoding {
    /// The options for the inner ClientHello with these extensions, which is encrypted in an outer
    /// ClientHello with these extensions and this encoding.
    ///
    /// Extensions that are equal in both are consecutive in the inner ClientHello, and have the
    /// order of the outer one. The server name is never among them, since the length would
    /// reveal that it is the public name. RFC 9849 5.1, 6.1
    #[must_use]
    pub fn new(
        encoding: ClientHelloEncoding,
        inner: &ClientExtensions<'_>,
        outer: &ClientExtensions<'_>,
    ) -> Self {
        let never = [
            ExtensionType::SERVER_NAME,
            ExtensionType::ENCRYPTED_CLIENT_HELLO,
            ExtensionType::PRE_SHARED_KEY,
        ];
        let bit = |(place, kind): (u32, &ExtensionType)| u64::from(!never.contains(kind)) << place;
        let allowed =
            (0..).zip(ClientExtensions::KNOWN).map(bit).fold(0, |bits, allowed| bits | allowed);
        Self { encoding, shared: inner.equal(outer) & allowed }
    }
}

impl ClientHello<'_> {
    /// Appends the inner ClientHello as a message, which both sides hash. On an error, `out` is
    /// restored.
    pub fn encode_inner(
        &self,
        encoding: &InnerClientHelloEncoding,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        let form = Form { shared: encoding.shared, is_compressed: false };
        w.handshake(Self::TYPE, |w| self.write_form(&encoding.encoding, form, w));
        w.finish()
    }

    /// Appends the inner ClientHello as it is encrypted, without padding. On an error, `out` is
    /// restored. RFC 9849 5.1
    pub fn encode_for_encryption(
        &self,
        encoding: &InnerClientHelloEncoding,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        let form = Form { shared: encoding.shared, is_compressed: true };
        self.write_form(&encoding.encoding, form, &mut w);
        w.finish()
    }
}

impl<'a> ClientHello<'a> {
    /// The range of this message body that the payload of the form
    /// [`EncryptedClientHello::Outer`] takes: zeros replace it in the associated data of the
    /// encryption. `None` if the body has no such extension. RFC 9849 5.2
    pub fn encrypted_payload(body: &'a [u8]) -> Result<Option<Range<usize>>, DecodeError> {
        let mut rest = Reader::new(body);
        Self::skip_to_extensions(&mut rest)?;
        if rest.is_empty() {
            return Ok(None);
        }
        rest.u16()?;
        while !rest.is_empty() {
            let (kind, content) = (ExtensionType(rest.u16()?), rest.opaque16()?);
            if kind != ExtensionType::ENCRYPTED_CLIENT_HELLO {
                continue;
            }
            return Ok(match EncryptedClientHello::parse(content)? {
                // The payload ends the extension.
                EncryptedClientHello::Outer(outer) => {
                    let end = body.len().saturating_sub(rest.remaining());
                    Some(end.saturating_sub(outer.payload.len())..end)
                }
                EncryptedClientHello::Inner => None,
            });
        }
        Ok(None)
    }
}

/// Rebuilds the inner ClientHello, header included, from its decrypted encoding and from the body
/// of the outer ClientHello.
///
/// The result is at most as long as both together, and the work is linear, because extensions of
/// the outer ClientHello are copied in its order and at most once. RFC 9849 5.1
pub fn decode_inner_client_hello(
    encoded: &[u8],
    outer_body: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let mut reader = Reader::new(encoded);
    let version_and_random = reader.take(2 + 32)?;
    let no_session_id = reader.opaque8()?.is_empty();
    let (cipher_suites, compression_methods) = (reader.opaque16()?, reader.opaque8()?);
    let extensions = reader.vec16()?;
    if !no_session_id || reader.rest().iter().any(|byte| *byte != 0) {
        return Err(DecodeError::InvalidInnerClientHello);
    }
    let outer = ClientHello::extension_block(outer_body)?;
    let mut of_outer = Reader::new(outer_body);
    of_outer.take(2 + 32)?;
    let session_id = of_outer.opaque8()?;

    let mut message =
        Vec::with_capacity(encoded.len().saturating_add(session_id.len()).saturating_add(4));
    let mut w = Writer::new(&mut message);
    let mut copied = Ok(());
    w.handshake(HandshakeType::CLIENT_HELLO, |w| {
        w.bytes(version_and_random);
        w.opaque8(session_id);
        w.opaque16(cipher_suites);
        w.opaque8(compression_methods);
        w.vec16(|w| copied = copy_extensions(extensions, outer, w));
    });
    copied?;
    w.finish().map_err(|_| DecodeError::InvalidLength)?;
    Ok(message)
}

fn copy_extensions(
    mut extensions: Reader<'_>,
    outer: ExtensionBlock<'_>,
    w: &mut Writer<'_>,
) -> Result<(), DecodeError> {
    let mut expanded = false;
    let mut remaining = outer.iter();
    while !extensions.is_empty() {
        let (kind, body) = (ExtensionType(extensions.u16()?), extensions.opaque16()?);
        if kind != ExtensionType::ECH_OUTER_EXTENSIONS {
            w.extension(kind, |w| w.bytes(body));
            continue;
        }
        if core::mem::replace(&mut expanded, true) {
            return Err(DecodeError::InvalidOuterExtensions);
        }
        for named in read_outer_extensions(body)? {
            // An extension that was copied or passed is not found again.
            let found = remaining.find(|(kind, _)| *kind == named);
            let Some((kind, body)) = found.filter(|_| may_be_named(named)) else {
                return Err(DecodeError::InvalidOuterExtensions);
            };
            w.extension(kind, |w| w.bytes(body));
        }
    }
    Ok(())
}

/// The associated data does not cover encrypted_client_hello, and neither ClientHello may have
/// ech_outer_extensions. RFC 9849 5.1
fn may_be_named(kind: ExtensionType) -> bool {
    kind != ExtensionType::ENCRYPTED_CLIENT_HELLO && kind != ExtensionType::ECH_OUTER_EXTENSIONS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::*;

    const OUTER: OuterEncryptedClientHello<'_> = OuterEncryptedClientHello {
        cipher_suite: HpkeSymmetricCipherSuite {
            kdf_id: HpkeKdf::HKDF_SHA256,
            aead_id: HpkeAead::AES_128_GCM,
        },
        config_id: 7,
        enc: &[1, 2, 3],
        payload: &[4, 5],
    };

    const SCHEMES: &[SignatureScheme] = &[SignatureScheme::ED25519];
    const BOTH: &[ProtocolVersion] = &[ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

    fn name(name: &'static str) -> Option<ServerNameOffer<'static>> {
        Some(ServerNameOffer::HostName(HostName::new(name.as_bytes()).unwrap()))
    }

    fn hello(extensions: ClientExtensions<'_>) -> ClientHello<'_> {
        ClientHello {
            session_id: &[3; 32],
            cipher_suites: List::new(&[CipherSuite::TLS_AES_128_GCM_SHA256]),
            compression_methods: List::new(&[CompressionMethod::NULL]),
            extensions_present: true,
            extensions,
            ..ClientHello::default()
        }
    }

    fn inner_extensions() -> ClientExtensions<'static> {
        ClientExtensions {
            server_name: name("secret.example"),
            signature_algorithms: Some(List::new(SCHEMES)),
            supported_versions: Some(List::new(&BOTH[..1])),
            post_handshake_auth: Some(()),
            record_size_limit: Some(99),
            encrypted_client_hello: Some(EncryptedClientHello::INNER),
            pre_shared_key: Some(OfferedPsks {
                identities: List::new(&[PskIdentity { identity: &[9], obfuscated_ticket_age: 1 }]),
                binders: List::new(&[PskBinder(&[0; 32])]),
            }),
            ..ClientExtensions::default()
        }
    }

    fn outer_extensions(payload: &[u8]) -> ClientExtensions<'_> {
        ClientExtensions {
            supported_versions: Some(List::new(BOTH)),
            extended_master_secret: Some(()),
            encrypted_client_hello: Some(payload),
            ..inner_extensions()
        }
    }

    fn payload() -> Vec<u8> {
        let mut out = Vec::new();
        EncryptedClientHello::Outer(OUTER).write(&mut Writer::new(&mut out));
        out
    }

    /// RFC 9849 5.1, 6.1
    #[test]
    fn an_inner_hello_is_compressed_and_rebuilt() {
        let payload = payload();
        let (inner, outer) = (hello(inner_extensions()), hello(outer_extensions(&payload)));
        for order in [None, Some(1), Some(7), Some(300)] {
            for grease in [None, Some(Grease::from_random([1, 2, 3, 4, 5, 6, 7, 8]))] {
                let encoding = ClientHelloEncoding { order, grease };
                let (mut message, mut encoded, mut sent) = (Vec::new(), Vec::new(), Vec::new());
                outer.encode_with(&encoding, &mut sent).unwrap();
                let encoding =
                    InnerClientHelloEncoding::new(encoding, &inner.extensions, &outer.extensions);
                inner.encode_inner(&encoding, &mut message).unwrap();
                inner.encode_for_encryption(&encoding, &mut encoded).unwrap();
                let with_padding = [&encoded[..], &[0; 31]].concat();
                for encoded in [&encoded, &with_padding] {
                    assert_eq!(decode_inner_client_hello(encoded, &sent[4..]), Ok(message.clone()));
                }
                if grease.is_none() {
                    assert_eq!(ClientHello::parse(&message[4..]), Ok(inner));
                }
                // The names are equal but not compressed, unlike three other extensions.
                assert!(encoded.windows(14).any(|bytes| bytes == b"secret.example"));
                let block = ClientHello::extension_block(&encoded).unwrap();
                let mut named: Vec<_> = block.iter().collect();
                named.retain(|(kind, _)| *kind == ExtensionType::ECH_OUTER_EXTENSIONS);
                assert_eq!(read_outer_extensions(named[0].1).map(|list| list.len()), Ok(3));
                assert_eq!(encoded[2 + 32], 0);
            }
        }
    }

    fn decode(list: &[u16], twice: bool) -> Result<Vec<u8>, DecodeError> {
        let payload = payload();
        let mut outer = Vec::new();
        hello(outer_extensions(&payload)).write_body(&mut Writer::new(&mut outer));
        let mut encoded = Vec::new();
        let mut w = Writer::new(&mut encoded);
        w.bytes(&[3; 2 + 32]);
        w.opaque8(&[]);
        w.opaque16(&[0x13, 1]);
        w.opaque8(&[0]);
        w.vec16(|w| {
            for _ in 0..=u8::from(twice) {
                w.extension(ExtensionType::ECH_OUTER_EXTENSIONS, |w| {
                    w.vec8(|w| list.iter().for_each(|kind| w.u16(*kind)));
                });
            }
        });
        decode_inner_client_hello(&encoded, &outer)
    }

    /// RFC 9849 5.1
    #[test]
    fn references_must_be_to_existing_extensions_in_order() {
        // The order of encoding is supported_versions, signature_algorithms, record_size_limit,
        // extended_master_secret, post_handshake_auth, encrypted_client_hello.
        assert!(decode(&[43, 13, 28, 23, 49], false).is_ok());
        assert!(decode(&[13, 49], false).is_ok());
        for wrong in [&[13, 43][..], &[28, 28], &[13, 44], &[49, 13], &[0xfe0d], &[0xfd00]] {
            assert_eq!(decode(wrong, false), Err(DecodeError::InvalidOuterExtensions), "{wrong:?}");
        }
        assert_eq!(decode(&[13], true), Err(DecodeError::InvalidOuterExtensions));
        assert_eq!(decode(&[], false), Err(DecodeError::EmptyList));
    }

    /// RFC 9849 5.1
    #[test]
    fn padding_must_be_zero_and_the_session_id_empty() {
        let encoding = InnerClientHelloEncoding::new(
            ClientHelloEncoding::default(),
            &inner_extensions(),
            &ClientExtensions::default(),
        );
        let mut encoded = Vec::new();
        let inner = hello(inner_extensions());
        inner.encode_for_encryption(&encoding, &mut encoded).unwrap();
        let mut outer = Vec::new();
        hello(ClientExtensions::default()).write_body(&mut Writer::new(&mut outer));
        let decode = |encoded: &[u8]| decode_inner_client_hello(encoded, &outer);
        assert!(decode(&encoded).is_ok());
        for place in 0..40 {
            let mut padding = [0; 40];
            padding[place] = 1;
            let padded = [&encoded[..], &padding].concat();
            assert_eq!(decode(&padded), Err(DecodeError::InvalidInnerClientHello), "{place}");
        }
        let with_id = [&encoded[..34], &[1, 9], &encoded[35..]].concat();
        assert_eq!(decode(&with_id), Err(DecodeError::InvalidInnerClientHello));
        for length in 0..encoded.len() {
            assert_eq!(decode(&encoded[..length]), Err(DecodeError::Truncated), "{length}");
        }
        for bit in 0..encoded.len() * 8 {
            let mut changed = encoded.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(message) = decode(&changed) {
                assert!(message.len() <= changed.len() + outer.len());
            }
        }
    }

    /// RFC 9849 5.1
    #[test]
    fn an_inner_hello_that_becomes_too_long_is_refused() {
        let long = vec![1; 40_000];
        let extension = [(ExtensionType(0x7777), &long[..])];
        let unknown = UnknownExtensions::new(&extension);
        let mut outer = Vec::new();
        hello(ClientExtensions { unknown, ..Default::default() })
            .write_body(&mut Writer::new(&mut outer));
        let mut encoded = Vec::new();
        let mut w = Writer::new(&mut encoded);
        w.bytes(&[3; 2 + 32]);
        w.bytes(&[0, 0, 2, 0x13, 1, 1, 0]);
        w.vec16(|w| {
            w.extension(ExtensionType(0x7778), |w| w.bytes(&long));
            w.extension(ExtensionType::ECH_OUTER_EXTENSIONS, |w| w.bytes(&[2, 0x77, 0x77]));
        });
        let decoded = decode_inner_client_hello(&encoded, &outer);
        assert_eq!(decoded, Err(DecodeError::InvalidLength));
    }

    /// RFC 9849 5.2
    #[test]
    fn the_payload_is_found_wherever_the_extension_is() {
        let payload = payload();
        for order in [None, Some(1), Some(2), Some(5), Some(77)] {
            let mut message = Vec::new();
            let encoding = ClientHelloEncoding { order, grease: None };
            hello(outer_extensions(&payload)).encode_with(&encoding, &mut message).unwrap();
            let body = &message[4..];
            let range = ClientHello::encrypted_payload(body).unwrap().unwrap();
            assert_eq!(body[range], *OUTER.payload);
        }
        for without in
            [hello(ClientExtensions::default()), hello(inner_extensions()), ClientHello::default()]
        {
            let mut body = Vec::new();
            without.write_body(&mut Writer::new(&mut body));
            assert_eq!(ClientHello::encrypted_payload(&body), Ok(None));
        }
    }
}
