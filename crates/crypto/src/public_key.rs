//! Public keys and the verification of signatures.
//!
//! A key is parsed once and used often. See `signature.rs` for the algorithms and
//! `backend/pkey.rs` for parsing.

use core::fmt;

use crate::backend::ec::EcKey;
use crate::backend::ed25519;
use crate::backend::ml_dsa::MlDsaKey;
use crate::backend::pkey::{Contents, Pkey};
use crate::backend::rsa::RsaKey;
use crate::error::CryptoError;
use crate::hash::Hash;
use crate::signature::{KeyKind, SignatureAlgorithm};
use crate::signature::{Scheme, pss_algorithms};

/// A parsed public key.
pub struct PublicKey(Inner);

enum Inner {
    Rsa(RsaKey),
    RsaPss(RsaKey, &'static [SignatureAlgorithm]),
    Ec(EcKey),
    Ed25519([u8; 32]),
    MlDsa(MlDsaKey),
}

impl PublicKey {
    /// Parses a `SubjectPublicKeyInfo` (RFC 5280 4.1.2.7) in DER.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] for an unknown kind of key or curve,
    /// [`CryptoError::InvalidKey`] for a malformed key or one of a refused size.
    pub fn from_spki(der: &[u8]) -> Result<Self, CryptoError> {
        let inner = match Pkey::from_spki(der)?.public_contents()? {
            Contents::Rsa(key) => Inner::Rsa(of_allowed_size(key)?),
            Contents::RsaPss(key, only) => {
                Inner::RsaPss(of_allowed_size(key)?, pss_algorithms(only))
            }
            Contents::Ec(key) => Inner::Ec(key),
            Contents::Ed25519(bytes) => {
                let bytes = bytes.as_bytes().try_into().map_err(|_| CryptoError::InvalidKey)?;
                Inner::Ed25519(bytes)
            }
            Contents::MlDsa(key) => Inner::MlDsa(key),
        };
        Ok(Self(inner))
    }

    /// Parses the bits inside a `SubjectPublicKeyInfo` whose algorithm the caller has parsed: an
    /// `RSAPublicKey`, an uncompressed point, or raw bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] for a key that is malformed or of a refused size.
    pub fn from_raw(kind: KeyKind, bits: &[u8]) -> Result<Self, CryptoError> {
        if let Some(set) = kind.parameter_set() {
            return MlDsaKey::from_public_bytes(set, bits).map(|key| Self(Inner::MlDsa(key)));
        }
        let inner = match (kind, kind.curve()) {
            (_, Some(curve)) => Inner::Ec(EcKey::from_point(curve, bits, CryptoError::InvalidKey)?),
            (KeyKind::Ed25519, None) => {
                Inner::Ed25519(bits.try_into().map_err(|_| CryptoError::InvalidKey)?)
            }
            (KeyKind::RsaPss, None) => Inner::RsaPss(
                of_allowed_size(RsaKey::public_from_der(bits)?)?,
                pss_algorithms(None),
            ),
            (_, None) => Inner::Rsa(of_allowed_size(RsaKey::public_from_der(bits)?)?),
        };
        Ok(Self(inner))
    }

    /// The kind of the key.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        match &self.0 {
            Inner::Rsa(_) => KeyKind::Rsa,
            Inner::RsaPss(..) => KeyKind::RsaPss,
            Inner::Ec(key) => key.curve().into(),
            Inner::Ed25519(_) => KeyKind::Ed25519,
            Inner::MlDsa(key) => key.set().into(),
        }
    }

    /// The nominal key size in bits: of the modulus, of the field, or of the public key.
    #[must_use]
    pub fn bits(&self) -> usize {
        match &self.0 {
            Inner::Rsa(key) | Inner::RsaPss(key, _) => key.bits(),
            Inner::Ec(key) => key.curve().bits(),
            Inner::Ed25519(_) => 256,
            Inner::MlDsa(key) => key.set().public_key_len() * 8,
        }
    }

    /// The signature algorithms that the key can verify.
    #[must_use]
    pub fn algorithms(&self) -> &'static [SignatureAlgorithm] {
        match &self.0 {
            Inner::RsaPss(_, algorithms) => algorithms,
            _ => self.kind().algorithms(),
        }
    }

    /// Verifies a signature of a message.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] when the key cannot be used with the algorithm,
    /// [`CryptoError::Rejected`] when the signature does not verify.
    pub fn verify(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        match (&self.0, algorithm.scheme()) {
            (Inner::Rsa(key), Scheme::Rsa(padding, hash)) => {
                key.verify(padding, hash, &Hash::digest(hash, &[message]), signature)
            }
            (Inner::RsaPss(key, algorithms), Scheme::Rsa(padding, hash))
                if algorithms.contains(&algorithm) =>
            {
                key.verify(padding, hash, &Hash::digest(hash, &[message]), signature)
            }
            (Inner::Ec(key), Scheme::Ecdsa(hash)) => {
                key.verify(&Hash::digest(hash, &[message]), signature)
            }
            (Inner::Ed25519(key), Scheme::Ed25519) => {
                let signature = signature.try_into().map_err(|_| CryptoError::Rejected)?;
                ed25519::verify(key, message, signature)
            }
            (Inner::MlDsa(key), Scheme::MlDsa(set)) if key.set() == set => {
                key.verify(message, signature)
            }
            _ => Err(CryptoError::Unsupported),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:?}, {} bits)", self.kind(), self.bits())
    }
}

/// RSA below 2048 bits is weak; above 8192 bits a peer could make each verification slow.
pub(crate) fn of_allowed_size(key: RsaKey) -> Result<RsaKey, CryptoError> {
    if (2048..=8192).contains(&key.bits()) { Ok(key) } else { Err(CryptoError::InvalidKey) }
}
