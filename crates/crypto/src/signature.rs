//! Signature algorithms and kinds of keys.
//!
//! Code points, and the algorithms that a protocol version allows with each curve, are defined
//! elsewhere. See `signing_key.rs` and `public_key.rs`.

use crate::algorithm::HashAlgorithm;
use crate::backend::ec::Curve;
use crate::backend::ml_dsa::ParameterSet;
use crate::backend::rsa::Padding;

/// A signature algorithm. For ECDSA, the key determines the curve.
///
/// RSA-PSS uses one hash throughout and a salt of its length; ECDSA signatures are in DER; ML-DSA
/// is the pure form with an empty context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignatureAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    RsaPkcs1Sha256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    RsaPkcs1Sha384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    RsaPkcs1Sha512,
    /// RSASSA-PSS with SHA-256.
    RsaPssSha256,
    /// RSASSA-PSS with SHA-384.
    RsaPssSha384,
    /// RSASSA-PSS with SHA-512.
    RsaPssSha512,
    /// ECDSA with SHA-256.
    EcdsaSha256,
    /// ECDSA with SHA-384.
    EcdsaSha384,
    /// ECDSA with SHA-512.
    EcdsaSha512,
    /// Ed25519, which includes its hash function.
    Ed25519,
    /// ML-DSA-44, FIPS 204.
    MlDsa44,
    /// ML-DSA-65, FIPS 204.
    MlDsa65,
    /// ML-DSA-87, FIPS 204.
    MlDsa87,
}

impl SignatureAlgorithm {
    pub(crate) fn scheme(self) -> Scheme {
        match self {
            Self::RsaPkcs1Sha256 => Scheme::Rsa(Padding::Pkcs1, HashAlgorithm::Sha256),
            Self::RsaPkcs1Sha384 => Scheme::Rsa(Padding::Pkcs1, HashAlgorithm::Sha384),
            Self::RsaPkcs1Sha512 => Scheme::Rsa(Padding::Pkcs1, HashAlgorithm::Sha512),
            Self::RsaPssSha256 => Scheme::Rsa(Padding::Pss, HashAlgorithm::Sha256),
            Self::RsaPssSha384 => Scheme::Rsa(Padding::Pss, HashAlgorithm::Sha384),
            Self::RsaPssSha512 => Scheme::Rsa(Padding::Pss, HashAlgorithm::Sha512),
            Self::EcdsaSha256 => Scheme::Ecdsa(HashAlgorithm::Sha256),
            Self::EcdsaSha384 => Scheme::Ecdsa(HashAlgorithm::Sha384),
            Self::EcdsaSha512 => Scheme::Ecdsa(HashAlgorithm::Sha512),
            Self::Ed25519 => Scheme::Ed25519,
            Self::MlDsa44 => Scheme::MlDsa(ParameterSet::MlDsa44),
            Self::MlDsa65 => Scheme::MlDsa(ParameterSet::MlDsa65),
            Self::MlDsa87 => Scheme::MlDsa(ParameterSet::MlDsa87),
        }
    }
}

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyKind {
    /// RSA under rsaEncryption: PKCS#1 v1.5 and PSS.
    Rsa,
    /// RSA under id-RSASSA-PSS: PSS only.
    RsaPss,
    /// ECDSA on P-256.
    EcdsaP256,
    /// ECDSA on P-384.
    EcdsaP384,
    /// ECDSA on P-521.
    EcdsaP521,
    /// Ed25519.
    Ed25519,
    /// ML-DSA-44.
    MlDsa44,
    /// ML-DSA-65.
    MlDsa65,
    /// ML-DSA-87.
    MlDsa87,
}

impl KeyKind {
    /// The algorithms of this kind of key, best first. A single id-RSASSA-PSS key may allow fewer.
    #[must_use]
    pub fn algorithms(self) -> &'static [SignatureAlgorithm] {
        use SignatureAlgorithm as A;
        match self {
            Self::Rsa => &[
                A::RsaPssSha256,
                A::RsaPssSha384,
                A::RsaPssSha512,
                A::RsaPkcs1Sha256,
                A::RsaPkcs1Sha384,
                A::RsaPkcs1Sha512,
            ],
            Self::RsaPss => &[A::RsaPssSha256, A::RsaPssSha384, A::RsaPssSha512],
            Self::EcdsaP256 => &[A::EcdsaSha256, A::EcdsaSha384, A::EcdsaSha512],
            Self::EcdsaP384 => &[A::EcdsaSha384, A::EcdsaSha256, A::EcdsaSha512],
            Self::EcdsaP521 => &[A::EcdsaSha512, A::EcdsaSha256, A::EcdsaSha384],
            Self::Ed25519 => &[A::Ed25519],
            Self::MlDsa44 => &[A::MlDsa44],
            Self::MlDsa65 => &[A::MlDsa65],
            Self::MlDsa87 => &[A::MlDsa87],
        }
    }

    /// The curve of an ECDSA key.
    pub(crate) fn curve(self) -> Option<Curve> {
        match self {
            Self::EcdsaP256 => Some(Curve::P256),
            Self::EcdsaP384 => Some(Curve::P384),
            Self::EcdsaP521 => Some(Curve::P521),
            _ => None,
        }
    }

    /// The parameter set of an ML-DSA key.
    pub(crate) fn parameter_set(self) -> Option<ParameterSet> {
        match self {
            Self::MlDsa44 => Some(ParameterSet::MlDsa44),
            Self::MlDsa65 => Some(ParameterSet::MlDsa65),
            Self::MlDsa87 => Some(ParameterSet::MlDsa87),
            _ => None,
        }
    }
}

impl From<Curve> for KeyKind {
    fn from(curve: Curve) -> Self {
        match curve {
            Curve::P256 => Self::EcdsaP256,
            Curve::P384 => Self::EcdsaP384,
            Curve::P521 => Self::EcdsaP521,
        }
    }
}

impl From<ParameterSet> for KeyKind {
    fn from(set: ParameterSet) -> Self {
        match set {
            ParameterSet::MlDsa44 => Self::MlDsa44,
            ParameterSet::MlDsa65 => Self::MlDsa65,
            ParameterSet::MlDsa87 => Self::MlDsa87,
        }
    }
}

/// The parts of a [`SignatureAlgorithm`].
#[derive(Clone, Copy)]
pub(crate) enum Scheme {
    Rsa(Padding, HashAlgorithm),
    Ecdsa(HashAlgorithm),
    Ed25519,
    MlDsa(ParameterSet),
}

/// The algorithms of an id-RSASSA-PSS key: all, or the one that its parameters allow.
pub(crate) fn pss_algorithms(only: Option<HashAlgorithm>) -> &'static [SignatureAlgorithm] {
    match only {
        None => KeyKind::RsaPss.algorithms(),
        Some(HashAlgorithm::Sha256) => &[SignatureAlgorithm::RsaPssSha256],
        Some(HashAlgorithm::Sha384) => &[SignatureAlgorithm::RsaPssSha384],
        Some(HashAlgorithm::Sha512) => &[SignatureAlgorithm::RsaPssSha512],
    }
}
