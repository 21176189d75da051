//! External pre-shared keys, plain and imported. RFC 9846 2.2, RFC 9257, RFC 9258

pub(crate) mod request;
pub(crate) mod set;

pub use request::{FindPreSharedKey, PreSharedKeyRequest};
pub use set::PreSharedKeys;

use core::fmt;

use tercel_crypto::{HashAlgorithm, HmacKey};
use tercel_wire::{ImportedIdentity, KdfIdentifier, ProtocolVersion};
use zeroize::Zeroizing;

use crate::keys::importer;
use crate::keys::tls13::PskKind;

/// An external pre-shared key: a secret that both peers obtained outside of TLS, and its identity.
///
/// The key authenticates both peers, and neither peer presents a certificate. External keys are
/// supported in TLS 1.3 only, always with a key exchange (psk_dhe_ke), and without early data. When
/// a session of such a handshake is resumed, early data is possible.
///
/// Requirements of RFC 9257:
/// - The key must be random and have at least 16 bytes. A password is not suitable, since an
///   attacker that has recorded one handshake can try all passwords.
/// - Only one client and one server may share a key. A program that is both client and server
///   needs a key for each direction, or an [import](Self::import) whose context contains the roles;
///   otherwise its own messages can be reflected to it.
/// - The identity is sent unencrypted. It should be a random label, not a name.
///
/// ```
/// use tercel::{ClientConfig, psk::{PreSharedKey, PreSharedKeys}, ServerConfig};
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
    /// The external identity of an imported key.
    external_identity: Option<Vec<u8>>,
    secret: Zeroizing<Vec<u8>>,
    hash: HashAlgorithm,
}

/// The error of creating a [`PreSharedKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreSharedKeyError {
    /// The identity is not 1 to 65535 bytes long. For an imported key, this limit applies to the
    /// encoded [`ImportedIdentity`]. RFC 9846 4.3.11
    BadIdentity,
    /// The key has less than 128 bits. RFC 9257 6
    KeyTooShort,
    /// TLS 1.3 has no suite with this hash.
    UnsupportedHash,
}

/// The minimum length of a key in bytes. RFC 9257 6
const MIN_KEY: usize = 16;

impl PreSharedKey {
    /// Creates a key that is used without import. Both peers have to agree on `hash`; SHA-256 is
    /// the default if nothing was agreed. Only suites with this hash can be used with the key.
    /// RFC 9846 4.3.11
    ///
    /// # Errors
    /// If the identity is empty or too long, the key is shorter than 16 bytes, or no TLS 1.3 suite
    /// has the hash.
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

    /// Imports an external key for TLS 1.3: returns a key for suites with SHA-256, and one for
    /// suites with SHA-384. Add both keys to a configuration. RFC 9258 5.1
    ///
    /// `context` describes the use of the external key, for instance the roles of its holders. Both
    /// peers have to use the same context. `hash` is the hash of the external key; SHA-256 is the
    /// default if nothing was agreed.
    ///
    /// # Errors
    /// The errors of [`Self::external`].
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

    /// Returns the identity that is sent. For an imported key, it is an encoded
    /// [`ImportedIdentity`].
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// Returns the identity that is used outside of TLS. For a key that is not imported, it is the
    /// same as [`Self::identity`].
    #[must_use]
    pub fn external_identity(&self) -> &[u8] {
        self.external_identity.as_deref().unwrap_or(&self.identity)
    }

    /// Returns the hash of the suites with which the key can be used.
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

    /// Returns a digest that identifies the key without revealing it. Different keys have different
    /// fingerprints, even if they have the same identity. This includes the two keys of an import.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let key = HmacKey::new(HashAlgorithm::Sha256, &self.secret);
        let digest = key.sign(&[b"fingerprint", &self.identity]);
        digest.first_chunk().copied().unwrap_or_default()
    }

    /// Returns the reference to this key that a session contains.
    pub(crate) fn reference(&self) -> PskReference {
        let external_identity = self.external_identity().to_vec();
        PskReference { external_identity, fingerprint: self.fingerprint() }
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

debug_fields!(PreSharedKey: hash);

impl fmt::Display for PreSharedKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadIdentity => "a pre-shared key's identity must have 1 to 65535 bytes",
            Self::KeyTooShort => "a pre-shared key must have at least 16 bytes",
            Self::UnsupportedHash => "a pre-shared key's hash must be SHA-256 or SHA-384",
        })
    }
}

impl std::error::Error for PreSharedKeyError {}

/// A reference to the external pre-shared key with which a session was established.
#[derive(Clone)]
pub(crate) struct PskReference {
    /// The identity, which is never empty.
    pub(crate) external_identity: Vec<u8>,
    pub(crate) fingerprint: [u8; 32],
}

debug_fields!(PskReference);

#[cfg(test)]
mod tests {
    use super::*;

    const SHA256: HashAlgorithm = HashAlgorithm::Sha256;

    /// RFC 9257 6
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
    fn an_identity_has_1_to_65535_bytes() {
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
    fn only_hashes_of_tls13_are_accepted() {
        let error = PreSharedKey::external(b"name", &[7; 16], HashAlgorithm::Sha512).err();
        assert_eq!(error, Some(PreSharedKeyError::UnsupportedHash));
    }

    #[test]
    fn debug_shows_neither_key_nor_identity() {
        let key = PreSharedKey::external(b"hunter2", b"0123456789abcdef", SHA256).unwrap();
        assert_eq!(format!("{key:?}"), "PreSharedKey { hash: Sha256, .. }");
    }

    #[test]
    fn an_imported_key_has_the_hash_and_identity_of_its_target() {
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
