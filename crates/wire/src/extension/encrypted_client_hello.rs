//! encrypted_client_hello: a client's encrypted offer, and its marker in the inner ClientHello.
//! RFC 9849 5
//!
//! The fields of messages keep this extension unparsed, because a server without Encrypted
//! ClientHello ignores it. `ech_config.rs` has the server's form in EncryptedExtensions.

use crate::code_points::{ExtensionType, HpkeAead, HpkeKdf};
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::structure::{Vector, structure};
use crate::writer::Writer;

/// The KDF and the AEAD of an encryption. RFC 9849 4
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpkeSymmetricCipherSuite {
    /// The key derivation function.
    pub kdf_id: HpkeKdf,
    /// The AEAD.
    pub aead_id: HpkeAead,
}

impl Element<'_> for HpkeSymmetricCipherSuite {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { kdf_id: HpkeKdf(reader.u16()?), aead_id: HpkeAead(reader.u16()?) })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.kdf_id.0);
        w.u16(self.aead_id.0);
    }
}

structure! {
    /// The extension of an outer ClientHello. RFC 9849 5
    OuterEncryptedClientHello {
        /// The algorithms of the encryption.
        cipher_suite: HpkeSymmetricCipherSuite,
        /// The identifier of the configuration.
        config_id: u8,
        /// The encapsulated key; empty after a HelloRetryRequest.
        enc: &'a [u8] as Vector<2, 0>,
        /// The encrypted inner ClientHello.
        payload: &'a [u8] as Vector<2, 1>,
    }
}

/// The extension of a ClientHello. RFC 9849 5
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptedClientHello<'a> {
    /// The outer ClientHello contains an encrypted one.
    Outer(OuterEncryptedClientHello<'a>),
    /// The ClientHello was encrypted.
    Inner,
}

impl<'a> EncryptedClientHello<'a> {
    /// The body of the form [`Self::Inner`].
    pub const INNER: &'static [u8] = &[1];

    /// Parses the body of the extension.
    pub fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::parse_all(body, Self::read)
    }
}

impl<'a> Element<'a> for EncryptedClientHello<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            0 => OuterEncryptedClientHello::read(reader).map(Self::Outer),
            1 => Ok(Self::Inner),
            // RFC 9849 7
            _ => Err(DecodeError::InvalidEncryptedClientHelloType),
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Outer(outer) => {
                w.u8(0);
                outer.write(w);
            }
            Self::Inner => w.bytes(Self::INNER),
        }
    }
}

/// Parses the list of ech_outer_extensions, which are the extensions to copy from the outer
/// ClientHello. RFC 9849 5.1
pub(crate) fn read_outer_extensions(body: &[u8]) -> Result<List<'_, ExtensionType>, DecodeError> {
    Reader::parse_all(body, |reader| List::read8(reader)?.not_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlertDescription;

    const OUTER: OuterEncryptedClientHello<'_> = OuterEncryptedClientHello {
        cipher_suite: HpkeSymmetricCipherSuite {
            kdf_id: HpkeKdf::HKDF_SHA256,
            aead_id: HpkeAead::AES_128_GCM,
        },
        config_id: 7,
        enc: &[1, 2, 3],
        payload: &[4, 5],
    };

    fn encoded(extension: EncryptedClientHello<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        extension.write(&mut Writer::new(&mut out));
        out
    }

    /// RFC 9849 5
    #[test]
    fn both_forms_are_written_and_read() {
        let bytes = encoded(EncryptedClientHello::Outer(OUTER));
        assert_eq!(bytes, [0, 0, 1, 0, 1, 7, 0, 3, 1, 2, 3, 0, 2, 4, 5]);
        assert_eq!(EncryptedClientHello::parse(&bytes), Ok(EncryptedClientHello::Outer(OUTER)));
        for length in 0..bytes.len() {
            let cut = EncryptedClientHello::parse(&bytes[..length]);
            assert_eq!(cut, Err(DecodeError::Truncated), "{length}");
        }
        let inner = encoded(EncryptedClientHello::Inner);
        assert_eq!(inner, EncryptedClientHello::INNER);
        assert_eq!(EncryptedClientHello::parse(&inner), Ok(EncryptedClientHello::Inner));
        assert_eq!(EncryptedClientHello::parse(&[1, 0]), Err(DecodeError::TrailingData));
    }

    /// RFC 9849 7
    #[test]
    fn other_types_and_an_empty_payload_are_refused() {
        for other in 2..=u8::MAX {
            let error = EncryptedClientHello::parse(&[other]).unwrap_err();
            assert_eq!(error, DecodeError::InvalidEncryptedClientHelloType);
            assert_eq!(error.alert(), AlertDescription::ILLEGAL_PARAMETER);
        }
        let empty = OuterEncryptedClientHello { payload: &[], ..OUTER };
        let bytes = encoded(EncryptedClientHello::Outer(empty));
        assert_eq!(EncryptedClientHello::parse(&bytes), Err(DecodeError::InvalidLength));
        let without_enc = OuterEncryptedClientHello { enc: &[], ..OUTER };
        let bytes = encoded(EncryptedClientHello::Outer(without_enc));
        assert!(EncryptedClientHello::parse(&bytes).is_ok());
    }

    /// RFC 9849 5.1
    #[test]
    fn the_list_of_outer_extensions_is_not_empty() {
        let read = |body| read_outer_extensions(body).map(|list| list.len());
        assert_eq!(read(&[4, 0, 1, 0, 2]), Ok(2));
        assert_eq!(read(&[0]), Err(DecodeError::EmptyList));
        assert_eq!(read(&[3, 0, 1, 0]), Err(DecodeError::Truncated));
        assert_eq!(read(&[2, 0, 1, 0]), Err(DecodeError::TrailingData));
    }
}
