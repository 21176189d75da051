//! Private keys and signing.
//!
//! Keys are parsed once, in the configuration, and used by every thread. The trait [`Signer`]
//! allows keys outside of this process. See `signature.rs` for the algorithms and `der.rs` for the
//! encoding of the public key.

use core::fmt;

use crate::backend::ec::EcKey;
use crate::backend::ed25519;
use crate::backend::pkey::{Contents, Pkey};
use crate::backend::rsa::RsaKey;
use crate::backend::secret::Secret;
use crate::der;
use crate::error::CryptoError;
use crate::key_parts::{KeyParts, RsaSizes, to_be_signed};
use crate::signature::{KeyKind, Scheme, SignatureAlgorithm};

/// A signer: a key in memory, a token, or a service.
pub trait Signer: Send + Sync {
    /// The kind of the key.
    fn kind(&self) -> KeyKind;

    /// Signs a message, with the hash function of the algorithm.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] when the key cannot be used with the algorithm, any other
    /// when signing failed.
    fn sign(&self, algorithm: SignatureAlgorithm, message: &[u8]) -> Result<Vec<u8>, CryptoError>;

    /// As [`Self::sign`], with the signature appended to `out`, which is unchanged after an error.
    ///
    /// # Errors
    ///
    /// As [`Self::sign`].
    fn sign_to(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        out.extend_from_slice(&self.sign(algorithm, message)?);
        Ok(())
    }

    /// The public half as a `SubjectPublicKeyInfo`, if it is known.
    fn public_key_spki(&self) -> Option<Vec<u8>>;

    /// The signature algorithms of the key, best first.
    fn algorithms(&self) -> &'static [SignatureAlgorithm] {
        self.kind().algorithms()
    }

    /// Whether the signatures are made by a module that is approved in the sense of FIPS 140-3:
    /// this library's, or a validated one to which the key belongs. The default is `false`.
    fn is_fips_approved(&self) -> bool {
        false
    }
}

/// A private key in memory.
pub struct SigningKey {
    parts: Parts,
    spki: Box<[u8]>,
}

/// The Ed25519 form is the expanded seed, boxed so that moving the key leaves no copy behind.
type Parts = KeyParts<Box<Secret>>;

impl SigningKey {
    /// Parses a private key in DER: PKCS#8, PKCS#1 or SEC 1. An ML-DSA key may be given as its
    /// seed, expanded, or both (RFC 9881 6).
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] for an unknown kind of key or curve,
    /// [`CryptoError::InvalidKey`] for a malformed key or one of a refused size.
    pub fn from_der(der: &[u8]) -> Result<Self, CryptoError> {
        if let Ok(container) = Pkey::from_pkcs8(der) {
            return Self::from_contents(container.private_contents()?, der);
        }
        if let Ok(key) = RsaKey::private_from_der(der) {
            return Self::from_contents(Contents::Rsa(key), der);
        }
        Self::from_contents(Contents::Ec(EcKey::from_sec1(der)?), der)
    }

    /// The kind of the key.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.parts.kind()
    }

    /// The nominal key size in bits: of the modulus, of the field, or of the public key.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.parts.bits()
    }

    /// The signature algorithms of the key, best first.
    #[must_use]
    pub fn algorithms(&self) -> &'static [SignatureAlgorithm] {
        self.parts.algorithms()
    }

    /// The public half as a `SubjectPublicKeyInfo` in DER.
    #[must_use]
    pub fn public_key_spki(&self) -> Vec<u8> {
        self.spki.to_vec()
    }

    /// Signs a message, with the hash function of the algorithm.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] when the key cannot be used with the algorithm.
    pub fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let mut signature = Vec::new();
        self.sign_to(algorithm, message, &mut signature)?;
        Ok(signature)
    }

    /// As [`Self::sign`], with the signature appended to `out`, which is unchanged after an error.
    ///
    /// # Errors
    ///
    /// As [`Self::sign`].
    pub fn sign_to(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        match (&self.parts, algorithm.scheme()) {
            (Parts::Rsa(key, _, algorithms), Scheme::Rsa(padding, hash))
                if algorithms.contains(&algorithm) =>
            {
                key.sign(padding, hash, &to_be_signed(hash, message), out)
            }
            (Parts::Ec(key), Scheme::Ecdsa(hash)) => {
                key.sign(hash, &to_be_signed(hash, message), out)
            }
            (Parts::Ed25519(private), Scheme::Ed25519) => {
                let private = private.as_bytes().try_into().map_err(|_| CryptoError::Internal)?;
                let mut signature = [0; 64];
                ed25519::sign(private, message, &mut signature)?;
                out.extend_from_slice(&signature);
                Ok(())
            }
            (Parts::MlDsa(key), Scheme::MlDsa(set)) if key.set() == set => key.sign(message, out),
            _ => Err(CryptoError::Unsupported),
        }
    }

    fn from_contents(contents: Contents, der: &[u8]) -> Result<Self, CryptoError> {
        let (parts, spki) = match contents {
            Contents::Rsa(key) => {
                let spki = der::spki(der::RSA_ENCRYPTION, &key.public_der()?);
                (Parts::rsa(key, RsaSizes::Strong)?, spki)
            }
            Contents::RsaPss(key, only) => {
                // The public key has the same algorithm, including parameters.
                let algorithm = der::pkcs8_algorithm(der).ok_or(CryptoError::InvalidKey)?;
                let spki = der::spki(algorithm, &key.public_der()?);
                (Parts::rsa_pss(key, only, RsaSizes::Strong)?, spki)
            }
            Contents::Ec(key) => {
                let mut point = vec![0; key.curve().point_len()];
                key.write_point(&mut point)?;
                let spki = der::spki(der::ec_algorithm(key.curve()), &point);
                (Parts::Ec(key), spki)
            }
            Contents::Ed25519(seed) => {
                let seed = seed.as_bytes().try_into().map_err(|_| CryptoError::InvalidKey)?;
                let private = Box::new(Secret::try_with(ed25519::PRIVATE_LEN, |out| {
                    let out = out.try_into().map_err(|_| CryptoError::Internal)?;
                    ed25519::expand_seed(seed, out);
                    Ok(())
                })?);
                // The second half of the private form is the public key.
                let spki = der::spki(der::ED25519, &private.as_bytes()[32..]);
                (Parts::Ed25519(private), spki)
            }
            Contents::MlDsa(key) => {
                let spki = der::spki(der::ml_dsa(key.set()), &key.public_bytes()?);
                (Parts::MlDsa(key), spki)
            }
        };
        Ok(Self { parts, spki: spki.into() })
    }
}

impl Signer for SigningKey {
    fn kind(&self) -> KeyKind {
        self.kind()
    }

    fn sign(&self, algorithm: SignatureAlgorithm, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        self.sign(algorithm, message)
    }

    fn sign_to(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        self.sign_to(algorithm, message, out)
    }

    fn public_key_spki(&self) -> Option<Vec<u8>> {
        Some(self.public_key_spki())
    }

    fn algorithms(&self) -> &'static [SignatureAlgorithm] {
        self.algorithms()
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({:?}, {} bits, ..)", self.kind(), self.bits())
    }
}
