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
use crate::der::{ec_algorithm, spki_algorithm};
use crate::error::CryptoError;
use crate::key_parts::{KeyParts, RsaSizes, to_be_signed};
use crate::signature::{KeyKind, Scheme, SignatureAlgorithm};

/// A parsed public key.
pub struct PublicKey(Parts);

type Parts = KeyParts<[u8; 32]>;

impl PublicKey {
    /// Parses a `SubjectPublicKeyInfo` (RFC 5280 4.1.2.7) in DER.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] for an unknown kind of key or curve, and for an EC key with
    /// explicit parameters; [`CryptoError::InvalidKey`] for a malformed key or one of a refused
    /// size.
    pub fn from_spki(der: &[u8]) -> Result<Self, CryptoError> {
        Self::parse(der, RsaSizes::Strong)
    }

    /// As [`from_spki`](Self::from_spki), and accepts RSA keys from 1024 bits, which an attacker
    /// with much computing power can break. These keys suffice for peers that are not
    /// authenticated, where the alternative is no encryption. With the feature `fips` they are
    /// refused.
    ///
    /// # Errors
    ///
    /// As [`from_spki`](Self::from_spki).
    pub fn from_legacy_spki(der: &[u8]) -> Result<Self, CryptoError> {
        Self::parse(der, RsaSizes::Legacy)
    }

    fn parse(der: &[u8], sizes: RsaSizes) -> Result<Self, CryptoError> {
        Ok(Self(match Pkey::from_spki(der)?.public_contents()? {
            Contents::Rsa(key) => Parts::rsa(key, sizes)?,
            Contents::RsaPss(key, only) => Parts::rsa_pss(key, only, sizes)?,
            // AWS-LC also reads explicit parameters, which are prohibited. RFC 5480 2.1.1
            Contents::Ec(key) if spki_algorithm(der) != Some(ec_algorithm(key.curve())) => {
                return Err(CryptoError::Unsupported);
            }
            Contents::Ec(key) => Parts::Ec(key),
            Contents::Ed25519(bytes) => {
                let bytes = bytes.as_bytes().try_into().map_err(|_| CryptoError::InvalidKey)?;
                Parts::Ed25519(bytes)
            }
            Contents::MlDsa(key) => Parts::MlDsa(key),
        }))
    }

    /// Parses the bits inside a `SubjectPublicKeyInfo` whose algorithm the caller has parsed: an
    /// `RSAPublicKey`, an uncompressed point, or raw bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] for a key that is malformed or of a refused size.
    pub fn from_raw(kind: KeyKind, bits: &[u8]) -> Result<Self, CryptoError> {
        if let Some(set) = kind.parameter_set() {
            return MlDsaKey::from_public_bytes(set, bits).map(|key| Self(Parts::MlDsa(key)));
        }
        Ok(Self(match (kind, kind.curve()) {
            (_, Some(curve)) => Parts::Ec(EcKey::from_point(curve, bits, CryptoError::InvalidKey)?),
            (KeyKind::Ed25519, None) => {
                Parts::Ed25519(bits.try_into().map_err(|_| CryptoError::InvalidKey)?)
            }
            (KeyKind::RsaPss, None) => {
                Parts::rsa_pss(RsaKey::public_from_der(bits)?, None, RsaSizes::Strong)?
            }
            (_, None) => Parts::rsa(RsaKey::public_from_der(bits)?, RsaSizes::Strong)?,
        }))
    }

    /// The kind of the key.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.0.kind()
    }

    /// The nominal key size in bits: of the modulus, of the field, or of the public key.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.0.bits()
    }

    /// The signature algorithms that the key can verify.
    #[must_use]
    pub fn algorithms(&self) -> &'static [SignatureAlgorithm] {
        self.0.algorithms()
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
            (Parts::Rsa(key, _, algorithms), Scheme::Rsa(padding, hash))
                if algorithms.contains(&algorithm) =>
            {
                key.verify(padding, hash, &to_be_signed(hash, message), signature)
            }
            (Parts::Ec(key), Scheme::Ecdsa(hash)) => {
                key.verify(hash, &to_be_signed(hash, message), signature)
            }
            (Parts::Ed25519(key), Scheme::Ed25519) => {
                let signature = signature.try_into().map_err(|_| CryptoError::Rejected)?;
                ed25519::verify(key, message, signature)
            }
            (Parts::MlDsa(key), Scheme::MlDsa(set)) if key.set() == set => {
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
