//! ML-DSA, FIPS 204, by the EVP interface: pure signatures of whole messages with an empty
//! context.
//!
//! See `signing_key.rs` and `public_key.rs` above. Version 3 of the FIPS module has no ML-DSA.

use core::ptr;

use super::check;
use super::digest_sign::{self, Method};
use super::handle::Handle;
use super::lc;
use crate::error::CryptoError;

/// A parameter set of FIPS 204 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterSet {
    MlDsa44,
    MlDsa65,
    MlDsa87,
}

impl ParameterSet {
    pub(crate) const fn public_key_len(self) -> usize {
        match self {
            Self::MlDsa44 => 1312,
            Self::MlDsa65 => 1952,
            Self::MlDsa87 => 2592,
        }
    }

    const fn signature_len(self) -> usize {
        match self {
            Self::MlDsa44 => 2420,
            Self::MlDsa65 => 3309,
            Self::MlDsa87 => 4627,
        }
    }

    #[cfg(not(fips_module_3))]
    fn nid(self) -> i32 {
        match self {
            Self::MlDsa44 => lc::NID_MLDSA44,
            Self::MlDsa65 => lc::NID_MLDSA65,
            Self::MlDsa87 => lc::NID_MLDSA87,
        }
    }
}

/// A public or private ML-DSA key.
pub(crate) struct MlDsaKey {
    key: Handle<lc::EVP_PKEY>,
    set: ParameterSet,
}

impl MlDsaKey {
    /// The key of a parsed container.
    #[cfg(not(fips_module_3))]
    pub(super) fn adopt(key: Handle<lc::EVP_PKEY>) -> Result<Self, CryptoError> {
        let mut len = 0;
        // SAFETY: the key is valid; without an output only the length is written.
        let code =
            unsafe { lc::EVP_PKEY_get_raw_public_key(key.as_ptr(), ptr::null_mut(), &raw mut len) };
        check(code, CryptoError::Unsupported)?;
        // The FIPS module has no function that returns the parameter set. The lengths differ.
        let all = [ParameterSet::MlDsa44, ParameterSet::MlDsa65, ParameterSet::MlDsa87];
        let set = all.into_iter().find(|set| set.public_key_len() == len);
        Ok(Self { key, set: set.ok_or(CryptoError::Unsupported)? })
    }

    /// A public key from its raw bytes.
    #[cfg(fips_module_3)]
    pub(crate) fn from_public_bytes(_: ParameterSet, _: &[u8]) -> Result<Self, CryptoError> {
        Err(CryptoError::Unsupported)
    }

    /// A public key from its raw bytes.
    #[cfg(not(fips_module_3))]
    pub(crate) fn from_public_bytes(set: ParameterSet, bytes: &[u8]) -> Result<Self, CryptoError> {
        // SAFETY: `bytes` is passed with its length, which AWS-LC compares with that of the
        // parameter set; the result is null, or we own it.
        let key = unsafe {
            let key = lc::EVP_PKEY_pqdsa_new_raw_public_key(set.nid(), bytes.as_ptr(), bytes.len());
            Handle::new(key, CryptoError::InvalidKey)?
        };
        Ok(Self { key, set })
    }

    pub(crate) fn set(&self) -> ParameterSet {
        self.set
    }

    /// The public key as raw bytes.
    pub(crate) fn public_bytes(&self) -> Result<Vec<u8>, CryptoError> {
        let mut out = vec![0; self.set.public_key_len()];
        let mut len = out.len();
        // SAFETY: the key is valid; `out` is passed with its length.
        let code = unsafe {
            lc::EVP_PKEY_get_raw_public_key(self.key.as_ptr(), out.as_mut_ptr(), &raw mut len)
        };
        check(code, CryptoError::InvalidKey)?;
        if len == out.len() { Ok(out) } else { Err(CryptoError::Internal) }
    }

    /// Signs a message with fresh randomness (FIPS 204 3.4) and appends the signature.
    pub(crate) fn sign(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), CryptoError> {
        let len = self.set.signature_len();
        digest_sign::sign(&self.key, Method::WITHOUT_HASH, message, len, out)
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        digest_sign::verify(&self.key, Method::WITHOUT_HASH, message, signature)
    }
}
