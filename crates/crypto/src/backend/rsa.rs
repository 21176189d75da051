//! RSA: PKCS#1 v1.5 and PSS signatures of a digest.
//!
//! Key sizes are checked by the callers, `signing_key.rs` and `public_key.rs` above.

use aws_lc_sys as lc;

use super::handle::{Bytes, Handle};
use super::{append, check};
use crate::algorithm::HashAlgorithm;
use crate::error::CryptoError;

/// A padding scheme of RFC 8017. PSS uses one hash throughout, and a salt as long as the
/// digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    Pkcs1,
    Pss,
}

/// A public or private RSA key.
pub(crate) struct RsaKey(pub(super) Handle<lc::RSA>);

impl RsaKey {
    /// Parses `der`, which must be exactly an `RSAPublicKey` (RFC 8017 A.1.1).
    pub(crate) fn public_from_der(der: &[u8]) -> Result<Self, CryptoError> {
        // SAFETY: `der` is passed with its length; we own the result. Trailing bytes are refused.
        unsafe {
            let key = lc::RSA_public_key_from_bytes(der.as_ptr(), der.len());
            Handle::new(key, CryptoError::InvalidKey).map(Self)
        }
    }

    /// Parses `der`, which must be exactly an `RSAPrivateKey` (RFC 8017 A.1.2).
    pub(crate) fn private_from_der(der: &[u8]) -> Result<Self, CryptoError> {
        // SAFETY: `der` is passed with its length; we own the result. Trailing bytes are refused.
        unsafe {
            let key = lc::RSA_private_key_from_bytes(der.as_ptr(), der.len());
            Handle::new(key, CryptoError::InvalidKey).map(Self)
        }
    }

    /// The `RSAPublicKey` of this key.
    pub(crate) fn public_der(&self) -> Result<Vec<u8>, CryptoError> {
        let (mut start, mut len) = (core::ptr::null_mut(), 0);
        // SAFETY: the key is valid; on success `start` is a block of `len` bytes that this
        // function owns.
        let bytes = unsafe {
            let code = lc::RSA_public_key_to_bytes(&raw mut start, &raw mut len, self.0.as_ptr());
            check(code, CryptoError::Internal)?;
            Bytes::new(start, len)?
        };
        Ok(bytes.to_vec())
    }

    /// The modulus's length in bits.
    pub(crate) fn bits(&self) -> usize {
        // SAFETY: the key is valid.
        unsafe { lc::RSA_bits(self.0.as_ptr()) as usize }
    }

    pub(crate) fn sign(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        assert!(digest.len() == hash.output_len());
        // SAFETY: the key is valid.
        let most = unsafe { lc::RSA_size(self.0.as_ptr()) as usize };
        append(out, most, |signature| {
            let (code, len) = match padding {
                Padding::Pkcs1 => {
                    let mut len = 0;
                    // SAFETY: `digest` is passed with its length; `RSA_size` bytes are written.
                    let code = unsafe {
                        lc::RSA_sign(
                            nid(hash),
                            digest.as_ptr(),
                            digest.len(),
                            signature.as_mut_ptr(),
                            &raw mut len,
                            self.0.as_ptr(),
                        )
                    };
                    (code, len as usize)
                }
                Padding::Pss => {
                    let mut len = 0;
                    // SAFETY: `digest` and `signature` are passed with lengths; `md` is static.
                    let code = unsafe {
                        lc::RSA_sign_pss_mgf1(
                            self.0.as_ptr(),
                            &raw mut len,
                            signature.as_mut_ptr(),
                            signature.len(),
                            digest.as_ptr(),
                            digest.len(),
                            md(hash),
                            md(hash),
                            SALT_LEN_OF_DIGEST,
                        )
                    };
                    (code, len)
                }
            };
            check(code, CryptoError::Internal)?;
            Ok(len)
        })
    }

    pub(crate) fn verify(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        assert!(digest.len() == hash.output_len());
        let code = match padding {
            // SAFETY: the key is valid; both inputs are passed with their lengths.
            Padding::Pkcs1 => unsafe {
                lc::RSA_verify(
                    nid(hash),
                    digest.as_ptr(),
                    digest.len(),
                    signature.as_ptr(),
                    signature.len(),
                    self.0.as_ptr(),
                )
            },
            // SAFETY: the key is valid; inputs are passed with their lengths; `md` is static.
            Padding::Pss => unsafe {
                lc::RSA_verify_pss_mgf1(
                    self.0.as_ptr(),
                    digest.as_ptr(),
                    digest.len(),
                    md(hash),
                    md(hash),
                    SALT_LEN_OF_DIGEST,
                    signature.as_ptr(),
                    signature.len(),
                )
            },
        };
        check(code, CryptoError::Rejected)
    }
}

/// AWS-LC's static description of a hash.
pub(super) fn md(hash: HashAlgorithm) -> *const lc::EVP_MD {
    // SAFETY: these functions return pointers to static tables.
    unsafe {
        match hash {
            HashAlgorithm::Sha256 => lc::EVP_sha256(),
            HashAlgorithm::Sha384 => lc::EVP_sha384(),
            HashAlgorithm::Sha512 => lc::EVP_sha512(),
        }
    }
}

fn nid(hash: HashAlgorithm) -> i32 {
    match hash {
        HashAlgorithm::Sha256 => lc::NID_sha256,
        HashAlgorithm::Sha384 => lc::NID_sha384,
        HashAlgorithm::Sha512 => lc::NID_sha512,
    }
}

/// AWS-LC's value for "as long as the digest".
const SALT_LEN_OF_DIGEST: i32 = -1;
