//! ECDH and ECDSA by the EVP interface, which the FIPS module approves.

use super::super::digest_sign::{self, Method};
use super::super::handle::Handle;
use super::super::rsa::md;
use super::super::{check, lc};
use super::EcKey;
use crate::algorithm::HashAlgorithm;
use crate::error::CryptoError;

/// A container with a reference to a key.
pub(super) fn container(key: &Handle<lc::EC_KEY>) -> Result<Handle<lc::EVP_PKEY>, CryptoError> {
    // SAFETY: the container is null, or new and ours; the key is valid, and the container takes
    // its own reference to it.
    unsafe {
        let container = Handle::new(lc::EVP_PKEY_new(), CryptoError::Internal)?;
        let code = lc::EVP_PKEY_set1_EC_KEY(container.as_ptr(), key.as_ptr());
        check(code, CryptoError::Internal)?;
        Ok(container)
    }
}

impl EcKey {
    /// The x coordinate of this private key times the peer's point; `out` must have
    /// [`Curve::field_len`](super::Curve::field_len) bytes.
    pub(crate) fn agree(&self, peer: &[u8], out: &mut [u8]) -> Result<(), CryptoError> {
        assert!(out.len() == self.curve.field_len());
        let peer = Self::from_point(self.curve, peer, CryptoError::InvalidShare)?;
        let (context, mut len) = (self.container.context()?, out.len());
        // SAFETY: the context and both keys are valid, and the context takes its own reference to
        // the peer's key; `out` is passed with its length.
        unsafe {
            check(lc::EVP_PKEY_derive_init(context.as_ptr()), CryptoError::Internal)?;
            let code = lc::EVP_PKEY_derive_set_peer(context.as_ptr(), peer.container.as_ptr());
            check(code, CryptoError::InvalidShare)?;
            let code = lc::EVP_PKEY_derive(context.as_ptr(), out.as_mut_ptr(), &raw mut len);
            check(code, CryptoError::InvalidShare)?;
        }
        if len == out.len() { Ok(()) } else { Err(CryptoError::InvalidShare) }
    }

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
