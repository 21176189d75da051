//! ImportedIdentity: the identity of an imported pre-shared key, with the protocol and the key
//! derivation function for which the key is imported. RFC 9258 5.1
//!
//! The extension pre_shared_key contains it in the same place as any other identity. This module
//! does not derive keys.

use crate::code_points::{KdfIdentifier, ProtocolVersion};
use crate::error::{DecodeError, EncodeError};
use crate::list::Element;
use crate::reader::Reader;
use crate::structure::{Vector, structure};
use crate::writer::Writer;

structure! {
    /// The parts of an imported key's identity.
    ImportedIdentity {
        /// The identity of the external key; never empty.
        external_identity: &'a [u8] as Vector<2, 1>,
        /// The context of the external key, such as the roles of its holders; may be empty.
        context: &'a [u8] as Vector<2, 0>,
        /// The protocol for which the key is imported.
        target_protocol: ProtocolVersion,
        /// The key derivation function for which the key is imported.
        target_kdf: KdfIdentifier,
    }
}

impl<'a> ImportedIdentity<'a> {
    /// Parses `identity`, which must be exactly one such structure.
    ///
    /// # Errors
    /// If `identity` does not have this form. Identities of keys that are not imported rarely have
    /// it.
    pub fn parse(identity: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::parse_all(identity, Self::read)
    }

    /// Appends the structure. On an error, `out` is restored.
    ///
    /// # Errors
    /// If a part is longer than 65535 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        self.write(&mut w);
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

    /// RFC 9258 10
    #[test]
    fn the_structure_round_trips() {
        let mut out = Vec::new();
        IDENTITY.encode(&mut out).unwrap();
        assert_eq!(out, BYTES);
        assert_eq!(ImportedIdentity::parse(&BYTES), Ok(IDENTITY));
    }

    #[test]
    fn truncated_empty_and_too_long_identities_are_refused() {
        for length in 0..BYTES.len() {
            assert_eq!(ImportedIdentity::parse(&BYTES[..length]), Err(DecodeError::Truncated));
        }
        let longer = [&BYTES[..], &[0]].concat();
        assert_eq!(ImportedIdentity::parse(&longer), Err(DecodeError::TrailingData));
        let nameless = [0, 0, 0, 0, 3, 4, 0, 1];
        assert_eq!(ImportedIdentity::parse(&nameless), Err(DecodeError::InvalidLength));
    }
}
