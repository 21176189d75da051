//! Pre-shared keys from outside of TLS: plain ones, and imported ones. RFC 9846 2.2, RFC 9257, RFC 9258
//!
//! Must not know: handshakes. Next: [`request`] for what a server is asked, [`set`] for a fixed list,
//! `keys/importer.rs` for the derivation.

pub(crate) mod request;
pub(crate) mod set;
pub(crate) mod usable;

use core::fmt;

use tercel_crypto::{HashAlgorithm, HmacKey};
use tercel_wire::{ImportedIdentity, KdfIdentifier, ProtocolVersion};
use zeroize::Zeroizing;

use crate::connection::facts::UsedKey;
use crate::keys::importer;
use crate::keys::tls13::PskKind;

/// A key that both ends were given outside of TLS, with the name that goes over the wire.
///
/// With such a key neither side shows a certificate: whoever has the key is the peer. It works in TLS 1.3
/// only, always with a key exchange (psk_dhe_ke), and admits no early data: that comes with the sessions
/// which follow.
///
/// Before one is used, RFC 9257 wants to be heard:
/// - The key is random, of 16 bytes at least. A password is not a key: who records one handshake can try
///   all of them.
/// - One client and one server share a key, nobody else. A program that is client and server at once needs
///   a key for each direction, or an [import](Self::import) whose context names the roles: otherwise what
///   it says can be sent back to it.
/// - The identity travels in the clear. Make it a random label rather than somebody's name.
///
/// ```
/// use tercel::{ClientConfig, PreSharedKey, PreSharedKeys, ServerConfig};
/// use tercel::crypto::HashAlgorithm;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let secret = [7_u8; 32];
/// let hash = HashAlgorithm::Sha256;
/// let key = PreSharedKey::external(b"sensor 17", &secret, hash)?;
/// let client = ClientConfig::builder().pre_shared_keys([key]).build()?;
///
/// let key = PreSharedKey::external(b"sensor 17", &secret, hash)?;
/// let server = ServerConfig::builder().pre_shared_keys([key]).build()?;
/// # let _ = (client, server); Ok(()) }
/// ```
pub struct PreSharedKey {
    identity: Vec<u8>,
    /// Of an imported key: what it is called outside.
    external_identity: Option<Vec<u8>>,
    secret: Zeroizing<Vec<u8>>,
    hash: HashAlgorithm,
}

/// Why a pre-shared key cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreSharedKeyError {
    /// An identity must have 1 to 65535 bytes, those of an imported key all of it together. RFC 9846 4.3.11
    BadIdentity,
    /// A key must have 128 bits at least. RFC 9257 6
    KeyTooShort,
    /// TLS 1.3 has no suite with this hash.
    UnsupportedHash,
}

/// RFC 9257 6
const MIN_KEY: usize = 16;

impl PreSharedKey {
    /// A key that is used as it is. `hash` is part of what both ends have to agree on; SHA-256 where nobody
    /// said anything. Only suites with this hash can be used with the key. RFC 9846 4.3.11
    ///
    /// # Errors
    /// If the identity is empty or too long, the key shorter than 16 bytes, or the hash not one of TLS 1.3.
    pub fn external(
        identity: &[u8],
        key: &[u8],
        hash: HashAlgorithm,
    ) -> Result<Self, PreSharedKeyError> {
        check(identity, key, hash)?;
        Ok(Self {
            identity: identity.to_vec(),
            external_identity: None,
            secret: Zeroizing::new(key.to_vec()),
            hash,
        })
    }

    /// The keys for TLS 1.3 that come of an external one: the first for suites with SHA-256, the second for
    /// those with SHA-384. Give both to a configuration. RFC 9258 5.1
    ///
    /// `context` says what the external key is for, the roles of its holders for instance; both ends have
    /// to say the same. `hash` belongs to the external key: SHA-256 where nobody said anything.
    ///
    /// # Errors
    /// As for [`Self::external`].
    pub fn import(
        external_identity: &[u8],
        context: &[u8],
        key: &[u8],
        hash: HashAlgorithm,
    ) -> Result<[Self; 2], PreSharedKeyError> {
        check(external_identity, key, hash)?;
        let one = |target_kdf, target_hash| {
            let imported = ImportedIdentity {
                external_identity,
                context,
                target_protocol: ProtocolVersion::TLS1_3,
                target_kdf,
            };
            let mut identity = Vec::new();
            imported.encode(&mut identity).map_err(|_| PreSharedKeyError::BadIdentity)?;
            check(&identity, key, target_hash)?;
            let secret = importer::imported_key(hash, key, &identity, target_hash);
            Ok(Self {
                identity,
                external_identity: Some(external_identity.to_vec()),
                secret: Zeroizing::new(secret.as_bytes().to_vec()),
                hash: target_hash,
            })
        };
        Ok([
            one(KdfIdentifier::HKDF_SHA256, HashAlgorithm::Sha256)?,
            one(KdfIdentifier::HKDF_SHA384, HashAlgorithm::Sha384)?,
        ])
    }

    /// The identity as it goes over the wire; of an imported key an [`ImportedIdentity`].
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// What the key is called outside of TLS: for a plain key the same as its identity.
    #[must_use]
    pub fn external_identity(&self) -> &[u8] {
        self.external_identity.as_deref().unwrap_or(&self.identity)
    }

    /// The hash of the suites that the key can be used with.
    #[must_use]
    pub fn hash(&self) -> HashAlgorithm {
        self.hash
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(crate) fn kind(&self) -> PskKind {
        match self.external_identity {
            None => PskKind::External,
            Some(_) => PskKind::Imported,
        }
    }

    /// What tells keys apart, those of one identity too, without giving them away. Of the two keys that come
    /// of an import each has its own.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let key = HmacKey::new(HashAlgorithm::Sha256, &self.secret);
        let digest = key.sign(&[b"fingerprint", &self.identity]);
        digest.first_chunk().copied().unwrap_or_default()
    }

    /// What a session remembers of the key.
    pub(crate) fn used(&self) -> UsedKey {
        let external_identity = self.external_identity().to_vec();
        UsedKey { external_identity, fingerprint: self.fingerprint() }
    }
}

fn check(identity: &[u8], key: &[u8], hash: HashAlgorithm) -> Result<(), PreSharedKeyError> {
    if identity.is_empty() || u16::try_from(identity.len()).is_err() {
        return Err(PreSharedKeyError::BadIdentity);
    }
    if key.len() < MIN_KEY {
        return Err(PreSharedKeyError::KeyTooShort);
    }
    if !matches!(hash, HashAlgorithm::Sha256 | HashAlgorithm::Sha384) {
        return Err(PreSharedKeyError::UnsupportedHash);
    }
    Ok(())
}

impl fmt::Debug for PreSharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreSharedKey").field("hash", &self.hash).finish_non_exhaustive()
    }
}

impl fmt::Display for PreSharedKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadIdentity => "a pre-shared key's identity must have 1 to 65535 bytes",
            Self::KeyTooShort => "a pre-shared key must have 16 bytes at least",
            Self::UnsupportedHash => "a pre-shared key's hash must be SHA-256 or SHA-384",
        })
    }
}

impl std::error::Error for PreSharedKeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA256: HashAlgorithm = HashAlgorithm::Sha256;

    #[test]
    fn a_key_shorter_than_128_bits_is_refused() {
        let external = |key: &[u8]| PreSharedKey::external(b"name", key, SHA256).err();
        assert_eq!(external(&[7; 15]), Some(PreSharedKeyError::KeyTooShort));
        assert_eq!(external(&[7; 16]), None);
        assert_eq!(external(&[7; 100]), None);
        let imported = PreSharedKey::import(b"name", b"", &[7; 15], SHA256).err();
        assert_eq!(imported, Some(PreSharedKeyError::KeyTooShort));
    }

    #[test]
    fn an_identity_has_a_byte_and_fits_its_length() {
        let external = |identity: &[u8]| PreSharedKey::external(identity, &[7; 16], SHA256).err();
        assert_eq!(external(b""), Some(PreSharedKeyError::BadIdentity));
        assert_eq!(external(&[1; 65536]), Some(PreSharedKeyError::BadIdentity));
        assert_eq!(external(&[1; 65535]), None);
        let import = |name: &[u8], context: &[u8]| {
            PreSharedKey::import(name, context, &[7; 16], SHA256).err()
        };
        assert_eq!(import(b"", b""), Some(PreSharedKeyError::BadIdentity));
        assert_eq!(import(&[1; 65535], b""), Some(PreSharedKeyError::BadIdentity));
        assert_eq!(import(b"a", &[1; 65536]), Some(PreSharedKeyError::BadIdentity));
        assert_eq!(import(&[1; 30000], &[1; 30000]), None);
    }

    #[test]
    fn only_hashes_of_tls13_will_do() {
        let error = PreSharedKey::external(b"name", &[7; 16], HashAlgorithm::Sha512).err();
        assert_eq!(error, Some(PreSharedKeyError::UnsupportedHash));
    }

    #[test]
    fn debug_shows_neither_key_nor_identity() {
        let key = PreSharedKey::external(b"hunter2", b"0123456789abcdef", SHA256).unwrap();
        assert_eq!(format!("{key:?}"), "PreSharedKey { hash: Sha256, .. }");
    }

    #[test]
    fn an_imported_key_says_what_it_is_for() {
        let [first, second] =
            PreSharedKey::import(b"name", b"ctx", &[7; 32], HashAlgorithm::Sha384).unwrap();
        assert_eq!((first.hash(), second.hash()), (SHA256, HashAlgorithm::Sha384));
        assert_eq!((first.secret().len(), second.secret().len()), (32, 48));
        let parsed = ImportedIdentity::parse(second.identity()).unwrap();
        assert_eq!((parsed.external_identity, parsed.context), (&b"name"[..], &b"ctx"[..]));
        assert_eq!(parsed.target_protocol, ProtocolVersion::TLS1_3);
        assert_eq!(parsed.target_kdf, KdfIdentifier::HKDF_SHA384);
        assert_eq!(second.external_identity(), b"name");
    }
}
