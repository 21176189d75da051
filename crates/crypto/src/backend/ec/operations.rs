//! ECDSA of a digest, by the functions for `EC_KEY`.

use super::super::{append, check, lc};
use super::EcKey;
use crate::algorithm::HashAlgorithm;
use crate::error::CryptoError;

impl EcKey {
    /// Appends an ECDSA signature of a digest, in DER.
    pub(crate) fn sign(
        &self,
        _: HashAlgorithm,
        digest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        // SAFETY: the key is valid.
        let most = unsafe { lc::ECDSA_size(self.key.as_ptr()) };
        append(out, most, |signature| {
            let mut len = 0;
            // SAFETY: `digest` is passed with its length; at most `ECDSA_size` bytes are written.
            let code = unsafe {
                lc::ECDSA_sign(
                    0,
                    digest.as_ptr(),
                    digest.len(),
                    signature.as_mut_ptr(),
                    &raw mut len,
                    self.key.as_ptr(),
                )
            };
            check(code, CryptoError::Internal)?;
            Ok(len as usize)
        })
    }

    /// Verifies a DER signature of a digest.
    pub(crate) fn verify(
        &self,
        _: HashAlgorithm,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        // SAFETY: the key is valid; both inputs are passed with their lengths.
        let code = unsafe {
            lc::ECDSA_verify(
                0,
                digest.as_ptr(),
                digest.len(),
                signature.as_ptr(),
                signature.len(),
                self.key.as_ptr(),
            )
        };
        check(code, CryptoError::Rejected)
    }
}
