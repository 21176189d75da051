//! ECDSA by the EVP interface, which the FIPS module approves.

use super::super::digest_sign::{self, Method};
use super::super::lc;
use super::super::rsa::md;
use super::EcKey;
use crate::algorithm::HashAlgorithm;
use crate::error::CryptoError;

impl EcKey {
    /// Appends an ECDSA signature of a message, in DER.
    pub(crate) fn sign(
        &self,
        hash: HashAlgorithm,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        // SAFETY: the key is valid.
        let most = unsafe { lc::ECDSA_size(self.key.as_ptr()) };
        digest_sign::sign(&self.container, method(hash), message, most, out)
    }

    /// Verifies a DER signature of a message.
    pub(crate) fn verify(
        &self,
        hash: HashAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        digest_sign::verify(&self.container, method(hash), message, signature)
    }
}

fn method(hash: HashAlgorithm) -> Method {
    Method { md: md(hash), is_pss: false }
}
