//! The signature algorithms of certificates.
//!
//! Each maps the two identifiers in a certificate (of the issuer's key and of the signature) to the
//! algorithm of `tercel-crypto` that verifies the signature. SHA-1 and MD5 are absent, and
//! therefore refused.

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use tercel_crypto::{CryptoError, KeyKind, PublicKey, SignatureAlgorithm};

use crate::der::{self, Malformed, Reader};
use crate::reason::RefusalReason;

/// A signature algorithm of certificates: a kind of key and an algorithm, with their X.509
/// identifiers.
#[derive(Debug)]
pub struct CertificateAlgorithm {
    key: KeyKind,
    algorithm: SignatureAlgorithm,
    key_identifier: AlgorithmIdentifier,
    signature_identifier: AlgorithmIdentifier,
}

impl CertificateAlgorithm {
    /// All supported algorithms, the most common first.
    pub const ALL: &'static [&'static Self] = &ALL;

    /// The kind of the issuer's key.
    #[must_use]
    pub fn key(&self) -> KeyKind {
        self.key
    }

    /// The algorithm of the signature.
    #[must_use]
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// A copy with another address. A constant likewise has a different address in each crate that
    /// uses it.
    #[cfg(test)]
    pub(crate) fn copied_elsewhere(&self) -> &'static Self {
        let Self { key, algorithm, key_identifier, signature_identifier } = *self;
        Box::leak(Box::new(entry(key, algorithm, key_identifier, signature_identifier)))
    }

    /// Parses a key of this algorithm's kind.
    pub(crate) fn parse_key(&self, key: &[u8]) -> Result<PublicKey, CryptoError> {
        PublicKey::from_raw(self.key, key)
    }

    /// Verifies a signature with a parsed key.
    pub(crate) fn verify_by(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        #[cfg(test)]
        VERIFIED.set(VERIFIED.get() + 1);
        key.verify(self.algorithm, message, signature).map_err(|_| InvalidSignature)
    }

    /// The number of signatures that this thread has verified so far.
    #[cfg(test)]
    pub(crate) fn verified() -> usize {
        VERIFIED.get()
    }
}

#[cfg(test)]
thread_local! {
    static VERIFIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl SignatureVerificationAlgorithm for CertificateAlgorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = self.parse_key(public_key).map_err(|_| InvalidSignature)?;
        self.verify_by(&key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key_identifier
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature_identifier
    }
}

/// The algorithm with these identifiers of the signature and of the key, each the content of an
/// AlgorithmIdentifier. RFC 5280 4.1.1.2, 4.1.2.7
pub(crate) fn find(
    algorithms: &[&'static CertificateAlgorithm],
    signature: &[u8],
    key: &[u8],
) -> Result<&'static CertificateAlgorithm, RefusalReason> {
    let found = algorithms.iter().find(|one| {
        one.signature_identifier.as_ref() == signature && one.key_identifier.as_ref() == key
    });
    match found {
        Some(found) => Ok(found),
        None => find_by_equal(algorithms, signature, key),
    }
}

/// Finds an algorithm by other forms of its identifiers, or states why there is none.
#[cold]
fn find_by_equal(
    algorithms: &[&'static CertificateAlgorithm],
    signature: &[u8],
    key: &[u8],
) -> Result<&'static CertificateAlgorithm, RefusalReason> {
    let (signature, key) = (with_null_parameters(signature), with_null_parameters(key));
    let mut of_signature =
        algorithms.iter().filter(|one| one.signature_identifier.as_ref() == signature).peekable();
    if of_signature.peek().is_none() {
        return Err(match is_weak(signature) {
            true => RefusalReason::WeakSignatureAlgorithm,
            false => RefusalReason::UnsupportedSignatureAlgorithm,
        });
    }
    let found = of_signature.find(|one| one.key_identifier.as_ref() == key);
    found.copied().ok_or(RefusalReason::UnsupportedKey)
}

/// The content of an AlgorithmIdentifier as [`CertificateAlgorithm`] has it. The identifiers of the
/// hashes inside of RSASSA-PSS have NULL parameters or none, which a verifier must accept as equal.
/// RFC 4055 2.1
pub(crate) fn with_null_parameters(identifier: &[u8]) -> &[u8] {
    if !identifier.starts_with(&PSS_ANY_HASH) {
        return identifier;
    }
    match read_pss(identifier) {
        Ok([SHA256, SHA256, [32]]) => PSS_SHA256.as_ref(),
        Ok([SHA384, SHA384, [48]]) => PSS_SHA384.as_ref(),
        Ok([SHA512, SHA512, [64]]) => PSS_SHA512.as_ref(),
        _ => identifier,
    }
}

/// The hash, the hash of the mask, and the length of the salt. RFC 4055 3.1
fn read_pss(identifier: &[u8]) -> Result<[&[u8]; 3], Malformed> {
    let mut fields = Reader::new(identifier);
    fields.expect(der::OBJECT_IDENTIFIER)?;
    let mut parameters = Reader::new(fields.expect(der::SEQUENCE)?);
    fields.finish()?;
    let hash = read_hash(parameters.expect(der::context_constructed(0))?)?;
    let mask = der::single(parameters.expect(der::context_constructed(1))?, der::SEQUENCE)?;
    let mut mask = Reader::new(mask);
    if mask.expect(der::OBJECT_IDENTIFIER)? != MGF1 {
        return Err(Malformed);
    }
    let mask_hash = read_hash(mask.element()?.whole)?;
    mask.finish()?;
    let salt = der::single(parameters.expect(der::context_constructed(2))?, der::INTEGER)?;
    parameters.finish()?;
    Ok([hash, mask_hash, salt])
}

/// The identifier of a hash, with or without NULL parameters.
fn read_hash(identifier: &[u8]) -> Result<&[u8], Malformed> {
    let mut fields = Reader::new(der::single(identifier, der::SEQUENCE)?);
    let hash = fields.expect(der::OBJECT_IDENTIFIER)?;
    if fields.optional(der::NULL)?.is_some_and(|content| !content.is_empty()) {
        return Err(Malformed);
    }
    fields.finish()?;
    Ok(hash)
}

/// Whether the content of an AlgorithmIdentifier is MD2, MD4, MD5 or SHA-1. RFC 8017 A.2.4,
/// RFC 3279 2.2
fn is_weak(algorithm: &[u8]) -> bool {
    WEAK.iter().any(|oid| algorithm.starts_with(oid))
}

const WEAK: [&[u8]; 6] = [
    // 1.2.840.113549.1.1.2 to .5
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 2],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 3],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5],
    // ecdsa-with-SHA1 and id-dsa-with-sha1
    &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1],
    &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3],
];

const ALL: [&CertificateAlgorithm; 28] = {
    use KeyKind::{
        EcdsaP256, EcdsaP384, EcdsaP521, Ed25519, MlDsa44, MlDsa65, MlDsa87, Rsa, RsaPss,
    };
    use SignatureAlgorithm as S;
    use alg_id as id;
    [
        &entry(EcdsaP256, S::EcdsaSha256, id::ECDSA_P256, id::ECDSA_SHA256),
        &entry(EcdsaP384, S::EcdsaSha384, id::ECDSA_P384, id::ECDSA_SHA384),
        &entry(Rsa, S::RsaPkcs1Sha256, id::RSA_ENCRYPTION, id::RSA_PKCS1_SHA256),
        &entry(Rsa, S::RsaPkcs1Sha384, id::RSA_ENCRYPTION, id::RSA_PKCS1_SHA384),
        &entry(Rsa, S::RsaPkcs1Sha512, id::RSA_ENCRYPTION, id::RSA_PKCS1_SHA512),
        &entry(EcdsaP256, S::EcdsaSha384, id::ECDSA_P256, id::ECDSA_SHA384),
        &entry(EcdsaP256, S::EcdsaSha512, id::ECDSA_P256, id::ECDSA_SHA512),
        &entry(EcdsaP384, S::EcdsaSha256, id::ECDSA_P384, id::ECDSA_SHA256),
        &entry(EcdsaP384, S::EcdsaSha512, id::ECDSA_P384, id::ECDSA_SHA512),
        &entry(EcdsaP521, S::EcdsaSha256, id::ECDSA_P521, id::ECDSA_SHA256),
        &entry(EcdsaP521, S::EcdsaSha384, id::ECDSA_P521, id::ECDSA_SHA384),
        &entry(EcdsaP521, S::EcdsaSha512, id::ECDSA_P521, id::ECDSA_SHA512),
        &entry(Ed25519, S::Ed25519, id::ED25519, id::ED25519),
        // The key and the signature share one identifier. RFC 9881 2, 3
        &entry(MlDsa44, S::MlDsa44, id::ML_DSA_44, id::ML_DSA_44),
        &entry(MlDsa65, S::MlDsa65, id::ML_DSA_65, id::ML_DSA_65),
        &entry(MlDsa87, S::MlDsa87, id::ML_DSA_87, id::ML_DSA_87),
        &entry(Rsa, S::RsaPssSha256, id::RSA_ENCRYPTION, id::RSA_PSS_SHA256),
        &entry(Rsa, S::RsaPssSha384, id::RSA_ENCRYPTION, id::RSA_PSS_SHA384),
        &entry(Rsa, S::RsaPssSha512, id::RSA_ENCRYPTION, id::RSA_PSS_SHA512),
        // The key is for PSS only: with one hash, or with any if it has no parameters. RFC 4055 3.1
        &entry(RsaPss, S::RsaPssSha256, PSS_ANY_HASH, id::RSA_PSS_SHA256),
        &entry(RsaPss, S::RsaPssSha384, PSS_ANY_HASH, id::RSA_PSS_SHA384),
        &entry(RsaPss, S::RsaPssSha512, PSS_ANY_HASH, id::RSA_PSS_SHA512),
        &entry(RsaPss, S::RsaPssSha256, id::RSA_PSS_SHA256, id::RSA_PSS_SHA256),
        &entry(RsaPss, S::RsaPssSha384, id::RSA_PSS_SHA384, id::RSA_PSS_SHA384),
        &entry(RsaPss, S::RsaPssSha512, id::RSA_PSS_SHA512, id::RSA_PSS_SHA512),
        // The NULL parameters after the identifier are missing, which verifiers must accept.
        // RFC 4055 5
        &entry(Rsa, S::RsaPkcs1Sha256, id::RSA_ENCRYPTION, PKCS1_SHA256_NO_NULL),
        &entry(Rsa, S::RsaPkcs1Sha384, id::RSA_ENCRYPTION, PKCS1_SHA384_NO_NULL),
        &entry(Rsa, S::RsaPkcs1Sha512, id::RSA_ENCRYPTION, PKCS1_SHA512_NO_NULL),
    ]
};

const fn entry(
    key: KeyKind,
    algorithm: SignatureAlgorithm,
    key_identifier: AlgorithmIdentifier,
    signature_identifier: AlgorithmIdentifier,
) -> CertificateAlgorithm {
    CertificateAlgorithm { key, algorithm, key_identifier, signature_identifier }
}

/// In statics, so that their contents outlive any function.
static PSS_SHA256: AlgorithmIdentifier = alg_id::RSA_PSS_SHA256;
static PSS_SHA384: AlgorithmIdentifier = alg_id::RSA_PSS_SHA384;
static PSS_SHA512: AlgorithmIdentifier = alg_id::RSA_PSS_SHA512;
/// id-mgf1, 1.2.840.113549.1.1.8
const MGF1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 8];
/// id-sha256, 2.16.840.1.101.3.4.2.1
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
/// id-sha384, 2.16.840.1.101.3.4.2.2
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2];
/// id-sha512, 2.16.840.1.101.3.4.2.3
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];
/// id-RSASSA-PSS, 1.2.840.113549.1.1.10
const PSS_ANY_HASH: AlgorithmIdentifier =
    pkcs1(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10]);
/// sha256WithRSAEncryption, 1.2.840.113549.1.1.11
const PKCS1_SHA256_NO_NULL: AlgorithmIdentifier =
    pkcs1(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11]);
/// sha384WithRSAEncryption, 1.2.840.113549.1.1.12
const PKCS1_SHA384_NO_NULL: AlgorithmIdentifier =
    pkcs1(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12]);
/// sha512WithRSAEncryption, 1.2.840.113549.1.1.13
const PKCS1_SHA512_NO_NULL: AlgorithmIdentifier =
    pkcs1(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13]);

const fn pkcs1(oid: &'static [u8]) -> AlgorithmIdentifier {
    AlgorithmIdentifier::from_slice(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8017 A.2.4
    #[test]
    fn weak_algorithms_are_distinguished_from_unknown_ones() {
        let refused =
            |id: &[u8]| find(CertificateAlgorithm::ALL, id, &alg_id::ECDSA_P256).unwrap_err();
        let sha1_with_rsa = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5, 5, 0];
        let ecdsa_with_sha1 = [6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1];
        assert_eq!(refused(&sha1_with_rsa), RefusalReason::WeakSignatureAlgorithm);
        assert_eq!(refused(&ecdsa_with_sha1), RefusalReason::WeakSignatureAlgorithm);
        assert_eq!(refused(&alg_id::ED448), RefusalReason::UnsupportedSignatureAlgorithm);
        assert_eq!(refused(&alg_id::RSA_PKCS1_SHA256), RefusalReason::UnsupportedKey);
        find(CertificateAlgorithm::ALL, &alg_id::ECDSA_SHA256, &alg_id::ECDSA_P256).unwrap();
    }
    /// The parameters of RSASSA-PSS with this hash, its identifier in both places, and this salt.
    fn pss(hash: &[u8], mask: &[u8], salt: u8) -> Vec<u8> {
        let wrap = |tag: u8, content: &[u8]| {
            [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
        };
        let mask = wrap(0x30, &[wrap(6, MGF1), wrap(0x30, mask)].concat());
        let parameters =
            [wrap(0xa0, &wrap(0x30, hash)), wrap(0xa1, &mask), wrap(0xa2, &[2, 1, salt])];
        [&PSS_ANY_HASH[..], &wrap(0x30, &parameters.concat())].concat()
    }

    /// RFC 4055 2.1
    #[test]
    fn absent_parameters_of_a_hash_are_null_parameters() {
        let named = |oid: &[u8]| [&[6, 9], oid].concat();
        let with_null = |oid: &[u8]| [&[6, 9], oid, &[5, 0]].concat();
        for (oid, salt, expected) in
            [(SHA256, 32, &PSS_SHA256), (SHA384, 48, &PSS_SHA384), (SHA512, 64, &PSS_SHA512)]
        {
            assert_eq!(pss(&with_null(oid), &with_null(oid), salt), expected.as_ref());
            for hash in [named(oid), with_null(oid)] {
                for mask in [named(oid), with_null(oid)] {
                    let identifier = pss(&hash, &mask, salt);
                    assert_eq!(with_null_parameters(&identifier), expected.as_ref());
                    let rsa = &alg_id::RSA_ENCRYPTION;
                    find(CertificateAlgorithm::ALL, &identifier, rsa).unwrap();
                    find(CertificateAlgorithm::ALL, &identifier, &identifier).unwrap();
                }
            }
        }
        // Another hash of the mask, another salt, and other parameters are other algorithms.
        let other_null = [&[6, 9], SHA256, &[5, 1, 0]].concat();
        for identifier in [
            pss(&named(SHA256), &named(SHA384), 32),
            pss(&named(SHA256), &named(SHA256), 20),
            pss(&other_null, &named(SHA256), 32),
            PSS_ANY_HASH.to_vec(),
            [&PSS_ANY_HASH[..], &[0x30, 0]].concat(),
        ] {
            assert_eq!(with_null_parameters(&identifier), identifier);
        }
    }
}
