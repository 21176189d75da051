//! Verification of signatures in certificates and handshakes.

use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};
use tercel_crypto::KeyKind::{
    EcdsaP256, EcdsaP384, EcdsaP521, Ed25519, MlDsa44, MlDsa65, MlDsa87, Rsa,
};
use tercel_crypto::{KeyKind, PublicKey, SignatureAlgorithm as A};

/// The algorithms of rustls' default provider. RSA keys have 2048 to 8192 bits.
pub(crate) static SUPPORTED: WebPkiSupportedAlgorithms =
    WebPkiSupportedAlgorithms { all: ALL, mapping: BY_SCHEME };

/// The algorithms of certificates, found by their identifiers.
static ALL: &[&dyn SignatureVerificationAlgorithm] = &[
    &ECDSA_P256_SHA256,
    &ECDSA_P256_SHA384,
    &ECDSA_P256_SHA512,
    &ECDSA_P384_SHA256,
    &ECDSA_P384_SHA384,
    &ECDSA_P384_SHA512,
    &ECDSA_P521_SHA256,
    &ECDSA_P521_SHA384,
    &ECDSA_P521_SHA512,
    &ED25519,
    &RSA_PSS_SHA256,
    &RSA_PSS_SHA384,
    &RSA_PSS_SHA512,
    &RSA_PKCS1_SHA256,
    &RSA_PKCS1_SHA384,
    &RSA_PKCS1_SHA512,
    &RSA_PKCS1_SHA256_NO_NULL,
    &RSA_PKCS1_SHA384_NO_NULL,
    &RSA_PKCS1_SHA512_NO_NULL,
    &ML_DSA_44,
    &ML_DSA_65,
    &ML_DSA_87,
];

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// The algorithms of handshakes. TLS 1.3 uses the first of a scheme. In TLS 1.2 the scheme does not
/// determine the curve: RFC 5246 7.4.1.4.1, RFC 8422 5.1.1
static BY_SCHEME: &[(SignatureScheme, Algorithms)] = &[
    (
        SignatureScheme::ECDSA_NISTP384_SHA384,
        &[&ECDSA_P384_SHA384, &ECDSA_P256_SHA384, &ECDSA_P521_SHA384],
    ),
    (
        SignatureScheme::ECDSA_NISTP256_SHA256,
        &[&ECDSA_P256_SHA256, &ECDSA_P384_SHA256, &ECDSA_P521_SHA256],
    ),
    (
        SignatureScheme::ECDSA_NISTP521_SHA512,
        &[&ECDSA_P521_SHA512, &ECDSA_P384_SHA512, &ECDSA_P256_SHA512],
    ),
    (SignatureScheme::ED25519, &[&ED25519]),
    (SignatureScheme::RSA_PSS_SHA512, &[&RSA_PSS_SHA512]),
    (SignatureScheme::RSA_PSS_SHA384, &[&RSA_PSS_SHA384]),
    (SignatureScheme::RSA_PSS_SHA256, &[&RSA_PSS_SHA256]),
    (SignatureScheme::RSA_PKCS1_SHA512, &[&RSA_PKCS1_SHA512]),
    (SignatureScheme::RSA_PKCS1_SHA384, &[&RSA_PKCS1_SHA384]),
    (SignatureScheme::RSA_PKCS1_SHA256, &[&RSA_PKCS1_SHA256]),
    (SignatureScheme::ML_DSA_44, &[&ML_DSA_44]),
    (SignatureScheme::ML_DSA_65, &[&ML_DSA_65]),
    (SignatureScheme::ML_DSA_87, &[&ML_DSA_87]),
];

/// A kind of key and a signature algorithm, with their identifiers in certificates.
#[derive(Debug)]
struct Algorithm {
    kind: KeyKind,
    algorithm: A,
    key_id: AlgorithmIdentifier,
    signature_id: AlgorithmIdentifier,
}

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = PublicKey::from_raw(self.kind, public_key).map_err(|_| InvalidSignature)?;
        key.verify(self.algorithm, message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key_id
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature_id
    }
}

const fn entry(
    kind: KeyKind,
    algorithm: A,
    key_id: AlgorithmIdentifier,
    signature_id: AlgorithmIdentifier,
) -> Algorithm {
    Algorithm { kind, algorithm, key_id, signature_id }
}

static ECDSA_P256_SHA256: Algorithm =
    entry(EcdsaP256, A::EcdsaSha256, alg_id::ECDSA_P256, alg_id::ECDSA_SHA256);
static ECDSA_P256_SHA384: Algorithm =
    entry(EcdsaP256, A::EcdsaSha384, alg_id::ECDSA_P256, alg_id::ECDSA_SHA384);
static ECDSA_P256_SHA512: Algorithm =
    entry(EcdsaP256, A::EcdsaSha512, alg_id::ECDSA_P256, alg_id::ECDSA_SHA512);
static ECDSA_P384_SHA256: Algorithm =
    entry(EcdsaP384, A::EcdsaSha256, alg_id::ECDSA_P384, alg_id::ECDSA_SHA256);
static ECDSA_P384_SHA384: Algorithm =
    entry(EcdsaP384, A::EcdsaSha384, alg_id::ECDSA_P384, alg_id::ECDSA_SHA384);
static ECDSA_P384_SHA512: Algorithm =
    entry(EcdsaP384, A::EcdsaSha512, alg_id::ECDSA_P384, alg_id::ECDSA_SHA512);
static ECDSA_P521_SHA256: Algorithm =
    entry(EcdsaP521, A::EcdsaSha256, alg_id::ECDSA_P521, alg_id::ECDSA_SHA256);
static ECDSA_P521_SHA384: Algorithm =
    entry(EcdsaP521, A::EcdsaSha384, alg_id::ECDSA_P521, alg_id::ECDSA_SHA384);
static ECDSA_P521_SHA512: Algorithm =
    entry(EcdsaP521, A::EcdsaSha512, alg_id::ECDSA_P521, alg_id::ECDSA_SHA512);
static ED25519: Algorithm = entry(Ed25519, A::Ed25519, alg_id::ED25519, alg_id::ED25519);

// The key and the signature share one identifier. RFC 9881 2, 3
static ML_DSA_44: Algorithm = entry(MlDsa44, A::MlDsa44, alg_id::ML_DSA_44, alg_id::ML_DSA_44);
static ML_DSA_65: Algorithm = entry(MlDsa65, A::MlDsa65, alg_id::ML_DSA_65, alg_id::ML_DSA_65);
static ML_DSA_87: Algorithm = entry(MlDsa87, A::MlDsa87, alg_id::ML_DSA_87, alg_id::ML_DSA_87);

// The key is under rsaEncryption, also for PSS.
static RSA_PSS_SHA256: Algorithm =
    entry(Rsa, A::RsaPssSha256, alg_id::RSA_ENCRYPTION, alg_id::RSA_PSS_SHA256);
static RSA_PSS_SHA384: Algorithm =
    entry(Rsa, A::RsaPssSha384, alg_id::RSA_ENCRYPTION, alg_id::RSA_PSS_SHA384);
static RSA_PSS_SHA512: Algorithm =
    entry(Rsa, A::RsaPssSha512, alg_id::RSA_ENCRYPTION, alg_id::RSA_PSS_SHA512);
static RSA_PKCS1_SHA256: Algorithm =
    entry(Rsa, A::RsaPkcs1Sha256, alg_id::RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA256);
static RSA_PKCS1_SHA384: Algorithm =
    entry(Rsa, A::RsaPkcs1Sha384, alg_id::RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA384);
static RSA_PKCS1_SHA512: Algorithm =
    entry(Rsa, A::RsaPkcs1Sha512, alg_id::RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA512);

// The NULL parameters after the identifier are missing, which verifiers must accept. RFC 4055 5
static RSA_PKCS1_SHA256_NO_NULL: Algorithm =
    entry(Rsa, A::RsaPkcs1Sha256, alg_id::RSA_ENCRYPTION, PKCS1_SHA256_NO_NULL);
static RSA_PKCS1_SHA384_NO_NULL: Algorithm =
    entry(Rsa, A::RsaPkcs1Sha384, alg_id::RSA_ENCRYPTION, PKCS1_SHA384_NO_NULL);
static RSA_PKCS1_SHA512_NO_NULL: Algorithm =
    entry(Rsa, A::RsaPkcs1Sha512, alg_id::RSA_ENCRYPTION, PKCS1_SHA512_NO_NULL);

/// sha256WithRSAEncryption, 1.2.840.113549.1.1.11
const PKCS1_SHA256_NO_NULL: AlgorithmIdentifier =
    AlgorithmIdentifier::from_slice(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11]);
/// sha384WithRSAEncryption, 1.2.840.113549.1.1.12
const PKCS1_SHA384_NO_NULL: AlgorithmIdentifier =
    AlgorithmIdentifier::from_slice(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12]);
/// sha512WithRSAEncryption, 1.2.840.113549.1.1.13
const PKCS1_SHA512_NO_NULL: AlgorithmIdentifier =
    AlgorithmIdentifier::from_slice(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13]);
