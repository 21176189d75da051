//! RSA: PKCS#1 v1.5 and PSS signatures.
//!
//! Key sizes are checked by the callers, `signing_key.rs` and `public_key.rs` above. Keys that
//! `kernels/rsa` supports use its operations, and the others AWS-LC's. With the feature `fips` all
//! keys use the EVP interface, the only one that the FIPS module approves.

#[cfg(feature = "fips")]
mod approved_operations;

use super::lc;

#[cfg(not(feature = "fips"))]
use super::append;
use super::check;
use super::handle::{Bytes, Handle};
#[cfg(kernel_rsa)]
use super::kernels::rsa::{
    KeyKernel, MODULUS_LEN, Recovered, modulus_for_kernel, parts_for_kernel,
};
#[cfg(kernel_rsa)]
use super::memory::constant_time_eq;
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
pub(crate) struct RsaKey {
    key: Handle<lc::RSA>,
    /// A container with a reference to `key`.
    #[cfg(feature = "fips")]
    container: Handle<lc::EVP_PKEY>,
    #[cfg(kernel_rsa)]
    kernel: KeyKernel,
}

impl RsaKey {
    pub(super) fn new(key: Handle<lc::RSA>) -> Result<Self, CryptoError> {
        Ok(Self {
            #[cfg(feature = "fips")]
            container: approved_operations::container(&key)?,
            key,
            #[cfg(kernel_rsa)]
            kernel: KeyKernel::new(),
        })
    }

    /// Parses `der`, which must be exactly an `RSAPublicKey` (RFC 8017 A.1.1).
    pub(crate) fn public_from_der(der: &[u8]) -> Result<Self, CryptoError> {
        // SAFETY: `der` is passed with its length; we own the result. Trailing bytes are refused.
        unsafe {
            let key = lc::RSA_public_key_from_bytes(der.as_ptr(), der.len());
            Handle::new(key, CryptoError::InvalidKey).and_then(Self::new)
        }
    }

    /// Parses `der`, which must be exactly an `RSAPrivateKey` (RFC 8017 A.1.2).
    pub(crate) fn private_from_der(der: &[u8]) -> Result<Self, CryptoError> {
        // SAFETY: `der` is passed with its length; we own the result. Trailing bytes are refused.
        unsafe {
            let key = lc::RSA_private_key_from_bytes(der.as_ptr(), der.len());
            let key = Handle::new(key, CryptoError::InvalidKey).and_then(Self::new)?;
            #[cfg(kernel_rsa)]
            key.kernel.prepare_to_sign();
            Ok(key)
        }
    }

    /// The `RSAPublicKey` of this key.
    pub(crate) fn public_der(&self) -> Result<Vec<u8>, CryptoError> {
        let (mut start, mut len) = (core::ptr::null_mut(), 0);
        // SAFETY: the key is valid; on success `start` is a block of `len` bytes that this
        // function owns.
        let bytes = unsafe {
            let code = lc::RSA_public_key_to_bytes(&raw mut start, &raw mut len, self.key.as_ptr());
            check(code, CryptoError::Internal)?;
            Bytes::new(start, len)?
        };
        Ok(bytes.to_vec())
    }

    /// The modulus's length in bits.
    pub(crate) fn bits(&self) -> usize {
        // SAFETY: the key is valid.
        unsafe { lc::RSA_bits(self.key.as_ptr()) as usize }
    }
}

#[cfg(not(feature = "fips"))]
impl RsaKey {
    /// Appends a signature of a digest.
    pub(crate) fn sign(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        assert!(digest.len() == hash.output_len());
        #[cfg(kernel_rsa)]
        if let Some(signature) = self.sign_by_kernel(padding, hash, digest) {
            out.extend_from_slice(&signature);
            return Ok(());
        }
        // SAFETY: the key is valid.
        let most = unsafe { lc::RSA_size(self.key.as_ptr()) as usize };
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
                            self.key.as_ptr(),
                        )
                    };
                    (code, len as usize)
                }
                Padding::Pss => {
                    let mut len = 0;
                    // SAFETY: `digest` and `signature` are passed with lengths; `md` is static.
                    let code = unsafe {
                        lc::RSA_sign_pss_mgf1(
                            self.key.as_ptr(),
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

    /// Verifies a signature of a digest.
    pub(crate) fn verify(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        assert!(digest.len() == hash.output_len());
        #[cfg(kernel_rsa)]
        match self.kernel.recover(signature, || modulus_for_kernel(&self.key)) {
            Recovered::Block(block) => return self.check_block(padding, hash, digest, &block),
            Recovered::Refused => return Err(CryptoError::Rejected),
            Recovered::Unsupported => {}
        }
        let code = match padding {
            // SAFETY: the key is valid; both inputs are passed with their lengths.
            Padding::Pkcs1 => unsafe {
                lc::RSA_verify(
                    nid(hash),
                    digest.as_ptr(),
                    digest.len(),
                    signature.as_ptr(),
                    signature.len(),
                    self.key.as_ptr(),
                )
            },
            // SAFETY: the key is valid; inputs are passed with their lengths; `md` is static.
            Padding::Pss => unsafe {
                lc::RSA_verify_pss_mgf1(
                    self.key.as_ptr(),
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

#[cfg(kernel_rsa)]
impl RsaKey {
    /// Signs with the kernel, if it supports the key. A wrong signature is not returned.
    fn sign_by_kernel(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
    ) -> Option<[u8; MODULUS_LEN]> {
        let signer = self.kernel.signer(|| parts_for_kernel(&self.key))?;
        let block = match padding {
            Padding::Pkcs1 => encode_pkcs1(hash, digest),
            Padding::Pss => self.encode_pss(hash, digest)?,
        };
        signer.sign(&block)
    }

    /// The encoding of a digest by EMSA-PSS, for a modulus of 2048 bits. RFC 8017 9.1.1
    fn encode_pss(&self, hash: HashAlgorithm, digest: &[u8]) -> Option<[u8; MODULUS_LEN]> {
        let mut block = [0; MODULUS_LEN];
        // SAFETY: the key is valid, and the block is as long as its modulus; the digest has the
        // length of the hash, which the caller has checked; `md` is static.
        let code = unsafe {
            lc::RSA_padding_add_PKCS1_PSS_mgf1(
                self.key.as_ptr(),
                block.as_mut_ptr(),
                digest.as_ptr(),
                md(hash),
                md(hash),
                SALT_LEN_OF_DIGEST,
            )
        };
        check(code, CryptoError::Internal).ok()?;
        Some(block)
    }

    /// Whether the kernel signs with this key.
    #[cfg(test)]
    pub(super) fn uses_kernel_to_sign(&self) -> bool {
        self.kernel.signer(|| parts_for_kernel(&self.key)).is_some()
    }

    /// Whether the kernel verifies signatures by this key.
    #[cfg(test)]
    pub(super) fn uses_kernel_to_verify(&self) -> bool {
        self.kernel.is_public_key_supported(|| modulus_for_kernel(&self.key))
    }

    /// Checks that a block recovered from a signature is the encoding of a digest.
    fn check_block(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        digest: &[u8],
        block: &[u8; MODULUS_LEN],
    ) -> Result<(), CryptoError> {
        match padding {
            // There is one encoding of a digest, so that it can be compared. RFC 8017 8.2.2
            Padding::Pkcs1 => constant_time_eq(block, &encode_pkcs1(hash, digest))
                .then_some(())
                .ok_or(CryptoError::Rejected),
            Padding::Pss => {
                // SAFETY: the key is valid, and the block is as long as its modulus; the digest has
                // the length of the hash, which the caller has checked; `md` is static.
                let code = unsafe {
                    lc::RSA_verify_PKCS1_PSS_mgf1(
                        self.key.as_ptr(),
                        digest.as_ptr(),
                        md(hash),
                        md(hash),
                        block.as_ptr(),
                        SALT_LEN_OF_DIGEST,
                    )
                };
                check(code, CryptoError::Rejected)
            }
        }
    }
}

/// The encoding of a digest by EMSA-PKCS1-v1_5, for a modulus of 2048 bits. RFC 8017 9.2
#[cfg(kernel_rsa)]
fn encode_pkcs1(hash: HashAlgorithm, digest: &[u8]) -> [u8; MODULUS_LEN] {
    // The last arc of the hash's object identifier, under nistAlgorithms.hashAlgs.
    let arc = match hash {
        HashAlgorithm::Sha256 => 1,
        HashAlgorithm::Sha384 => 2,
        HashAlgorithm::Sha512 => 3,
    };
    // A digest has at most 64 bytes.
    #[allow(clippy::cast_possible_truncation)]
    let len = digest.len() as u8;
    // DigestInfo: the algorithm with parameters NULL, then the digest.
    #[rustfmt::skip]
    let digest_info = [
        0x30, 17 + len,
        0x30, 13, 0x06, 9, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, arc, 0x05, 0,
        0x04, len,
    ];
    let mut block = [0xff; MODULUS_LEN];
    let (padding, end) = block.split_at_mut(MODULUS_LEN - digest_info.len() - digest.len());
    padding[..2].copy_from_slice(&[0, 1]);
    padding[padding.len() - 1] = 0;
    end[..digest_info.len()].copy_from_slice(&digest_info);
    end[digest_info.len()..].copy_from_slice(digest);
    block
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

#[cfg(not(feature = "fips"))]
pub(super) fn nid(hash: HashAlgorithm) -> i32 {
    match hash {
        HashAlgorithm::Sha256 => lc::NID_sha256,
        HashAlgorithm::Sha384 => lc::NID_sha384,
        HashAlgorithm::Sha512 => lc::NID_sha512,
    }
}

/// AWS-LC's value for "as long as the digest".
#[cfg(not(feature = "fips"))]
const SALT_LEN_OF_DIGEST: i32 = -1;
