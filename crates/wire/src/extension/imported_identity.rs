//! ImportedIdentity: the identity of an imported pre-shared key, which says what it was imported for. RFC 9258 5.1
//!
//! To pre_shared_key it is an identity like any other. Keys are not derived here. Next: `pre_shared_key`.

use crate::reader::not_empty;
use crate::{DecodeError, EncodeError, KdfIdentifier, ProtocolVersion, Reader, Writer};

/// What an imported key's identity is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedIdentity<'a> {
    /// The name of the external key; never empty.
    pub external_identity: &'a [u8],
    /// What the external key was made for, such as the roles of its holders; may be empty.
    pub context: &'a [u8],
    /// The protocol that the key was imported for.
    pub target_protocol: ProtocolVersion,
    /// The key derivation function that the key was imported for.
    pub target_kdf: KdfIdentifier,
}

impl<'a> ImportedIdentity<'a> {
    /// The structure in `identity`, which must be nothing but that.
    ///
    /// # Errors
    /// If it is not of this form; a plain identity usually is not.
    pub fn parse(identity: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::all(identity, |reader| {
            Ok(Self {
                external_identity: not_empty(reader.opaque16()?)?,
                context: reader.opaque16()?,
                target_protocol: ProtocolVersion(reader.u16()?),
                target_kdf: KdfIdentifier(reader.u16()?),
            })
        })
    }

    /// Appends the structure. On an error `out` is as before.
    ///
    /// # Errors
    /// If a part is longer than 65535 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        w.opaque16(self.external_identity);
        w.opaque16(self.context);
        w.u16(self.target_protocol.0);
        w.u16(self.target_kdf.0);
        w.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: ImportedIdentity<'static> = ImportedIdentity {
        external_identity: b"ab",
        context: b"c",
        target_protocol: ProtocolVersion::TLS1_3,
        target_kdf: KdfIdentifier::HKDF_SHA384,
    };

    const BYTES: [u8; 11] = [0, 2, b'a', b'b', 0, 1, b'c', 3, 4, 0, 2];

    #[test]
    fn the_structure_is_written_as_it_is_read() {
        let mut out = Vec::new();
        IDENTITY.encode(&mut out).unwrap();
        assert_eq!(out, BYTES);
        assert_eq!(ImportedIdentity::parse(&BYTES), Ok(IDENTITY));
    }

    #[test]
    fn what_is_cut_short_empty_or_too_long_is_none() {
        for length in 0..BYTES.len() {
            assert_eq!(ImportedIdentity::parse(&BYTES[..length]), Err(DecodeError::Truncated));
        }
        let longer = [&BYTES[..], &[0]].concat();
        assert_eq!(ImportedIdentity::parse(&longer), Err(DecodeError::TrailingData));
        let nameless = [0, 0, 0, 0, 3, 4, 0, 1];
        assert_eq!(ImportedIdentity::parse(&nameless), Err(DecodeError::InvalidLength));
    }
}
