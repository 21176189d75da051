//! Private keys in memory.
//!
//! [`any_supported_type`] is for programs that make a
//! [`CertifiedKey`](rustls::sign::CertifiedKey) themselves. Configurations load their keys by the
//! provider.

use std::sync::Arc;

use rustls::crypto::KeyProvider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use tercel_crypto::{self as crypto, CryptoError, KeyKind};

/// Loads an RSA, ECDSA, Ed25519 or ML-DSA key in any of its encodings: PKCS#8, PKCS#1 or SEC 1.
///
/// # Errors
/// If the key is malformed, of another kind, or an RSA key of a size that is refused: below 2048
/// bits, or above 8192.
pub fn any_supported_type(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    load(der.secret_der(), |_| true)
}

/// Loads an ECDSA key on P-256, P-384 or P-521.
///
/// # Errors
/// If the key is malformed or of another kind.
pub fn any_ecdsa_type(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    load(der.secret_der(), |algorithm| algorithm == SignatureAlgorithm::ECDSA)
}

/// Loads an Ed25519 key.
///
/// # Errors
/// If the key is malformed or of another kind.
pub fn any_eddsa_type(der: &PrivatePkcs8KeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    load(der.secret_pkcs8_der(), |algorithm| algorithm == SignatureAlgorithm::ED25519)
}

/// Loads the keys of configurations.
#[derive(Debug)]
pub(crate) struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(
        &self,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, Error> {
        any_supported_type(&key_der)
    }
}

fn load(
    der: &[u8],
    is_wanted: impl FnOnce(SignatureAlgorithm) -> bool,
) -> Result<Arc<dyn SigningKey>, Error> {
    let unusable = |error| Error::General(format!("the private key cannot be used: {error}"));
    let key = crypto::SigningKey::from_der(der).map_err(unusable)?;
    let (algorithm, schemes) = match key.kind() {
        KeyKind::Rsa => (SignatureAlgorithm::RSA, RSA),
        KeyKind::EcdsaP256 => (SignatureAlgorithm::ECDSA, ECDSA_P256),
        KeyKind::EcdsaP384 => (SignatureAlgorithm::ECDSA, ECDSA_P384),
        KeyKind::EcdsaP521 => (SignatureAlgorithm::ECDSA, ECDSA_P521),
        KeyKind::Ed25519 => (SignatureAlgorithm::ED25519, ED25519),
        // Cipher suites of TLS 1.2 have no name for ML-DSA, so that servers use it in TLS 1.3 only.
        // rustls does not report the version to a client's key.
        KeyKind::MlDsa44 => (SignatureAlgorithm::Unknown(0), ML_DSA_44),
        KeyKind::MlDsa65 => (SignatureAlgorithm::Unknown(0), ML_DSA_65),
        KeyKind::MlDsa87 => (SignatureAlgorithm::Unknown(0), ML_DSA_87),
        _ => return Err(unusable(CryptoError::Unsupported)),
    };
    if !is_wanted(algorithm) {
        return Err(unusable(CryptoError::Unsupported));
    }
    Ok(Arc::new(PrivateKey { key: Arc::new(key), algorithm, schemes }))
}

/// A signature scheme, and the algorithm by which it is made.
type Scheme = (SignatureScheme, crypto::SignatureAlgorithm);

/// The schemes of RSA keys, in rustls' order of preference.
const RSA: &[Scheme] = &[
    (SignatureScheme::RSA_PSS_SHA512, crypto::SignatureAlgorithm::RsaPssSha512),
    (SignatureScheme::RSA_PSS_SHA384, crypto::SignatureAlgorithm::RsaPssSha384),
    (SignatureScheme::RSA_PSS_SHA256, crypto::SignatureAlgorithm::RsaPssSha256),
    (SignatureScheme::RSA_PKCS1_SHA512, crypto::SignatureAlgorithm::RsaPkcs1Sha512),
    (SignatureScheme::RSA_PKCS1_SHA384, crypto::SignatureAlgorithm::RsaPkcs1Sha384),
    (SignatureScheme::RSA_PKCS1_SHA256, crypto::SignatureAlgorithm::RsaPkcs1Sha256),
];
const ECDSA_P256: &[Scheme] =
    &[(SignatureScheme::ECDSA_NISTP256_SHA256, crypto::SignatureAlgorithm::EcdsaSha256)];
const ECDSA_P384: &[Scheme] =
    &[(SignatureScheme::ECDSA_NISTP384_SHA384, crypto::SignatureAlgorithm::EcdsaSha384)];
const ECDSA_P521: &[Scheme] =
    &[(SignatureScheme::ECDSA_NISTP521_SHA512, crypto::SignatureAlgorithm::EcdsaSha512)];
const ED25519: &[Scheme] = &[(SignatureScheme::ED25519, crypto::SignatureAlgorithm::Ed25519)];
const ML_DSA_44: &[Scheme] = &[(SignatureScheme::ML_DSA_44, crypto::SignatureAlgorithm::MlDsa44)];
const ML_DSA_65: &[Scheme] = &[(SignatureScheme::ML_DSA_65, crypto::SignatureAlgorithm::MlDsa65)];
const ML_DSA_87: &[Scheme] = &[(SignatureScheme::ML_DSA_87, crypto::SignatureAlgorithm::MlDsa87)];

#[derive(Debug)]
struct PrivateKey {
    key: Arc<crypto::SigningKey>,
    algorithm: SignatureAlgorithm,
    schemes: &'static [Scheme],
}

impl SigningKey for PrivateKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let chosen = self.schemes.iter().find(|(scheme, _)| offered.contains(scheme))?;
        Some(Box::new(SchemeSigner { key: Arc::clone(&self.key), scheme: *chosen }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(self.key.public_key_spki().into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }
}

/// A key with the scheme that was chosen for a handshake.
#[derive(Debug)]
struct SchemeSigner {
    key: Arc<crypto::SigningKey>,
    scheme: Scheme,
}

impl Signer for SchemeSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |error| Error::General(format!("signing failed: {error}"));
        self.key.sign(self.scheme.1, message).map_err(failed)
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme.0
    }
}
