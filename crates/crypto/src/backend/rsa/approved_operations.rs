//! RSA signatures by the EVP interface, which the FIPS module approves.

use super::super::digest_sign::{self, Method};
use super::super::handle::Handle;
use super::super::{check, lc};
use super::{Padding, RsaKey, md};
use crate::algorithm::HashAlgorithm;
use crate::error::CryptoError;

/// A container with a reference to a key.
pub(super) fn container(key: &Handle<lc::RSA>) -> Result<Handle<lc::EVP_PKEY>, CryptoError> {
    // SAFETY: the container is null, or new and ours; the key is valid, and the container takes
    // its own reference to it.
    unsafe {
        let container = Handle::new(lc::EVP_PKEY_new(), CryptoError::Internal)?;
        let code = lc::EVP_PKEY_set1_RSA(container.as_ptr(), key.as_ptr());
        check(code, CryptoError::Internal)?;
        Ok(container)
    }
}

impl RsaKey {
    /// Appends a signature of a message.
    pub(crate) fn sign(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        // SAFETY: the key is valid.
        let most = unsafe { lc::RSA_size(self.key.as_ptr()) as usize };
        digest_sign::sign(&self.container, method(padding, hash), message, most, out)
    }

    /// Verifies a signature of a message.
    pub(crate) fn verify(
        &self,
        padding: Padding,
        hash: HashAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        digest_sign::verify(&self.container, method(padding, hash), message, signature)
    }
}

fn method(padding: Padding, hash: HashAlgorithm) -> Method {
    Method { md: md(hash), is_pss: padding == Padding::Pss }
}
