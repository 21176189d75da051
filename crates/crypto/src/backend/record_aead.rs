//! AEAD for the records of one direction.
//!
//! See `record_key.rs` above, and `aead.rs` for the operations.

use super::aead::AeadContext;
use crate::algorithm::{AeadAlgorithm, RecordNonces};
use crate::error::CryptoError;

/// A context for the records of one direction, whose nonces rise.
///
/// It seals by exclusive reference, because the FIPS module stores the last nonce in the context.
/// Opening changes nothing.
pub(crate) struct RecordContext(AeadContext);

impl RecordContext {
    pub(crate) fn new(
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        AeadContext::with_nonces(algorithm, Some(nonces), key).map(Self)
    }

    /// See [`AeadContext::renew`].
    pub(crate) fn renew(
        self,
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        self.0.renew_with(algorithm, Some(nonces), key).map(Self)
    }

    /// See [`AeadContext::is_by_aws_lc`].
    #[inline]
    pub(crate) fn is_by_aws_lc(&self) -> bool {
        self.0.is_by_aws_lc()
    }

    /// See [`AeadContext::seal`].
    #[inline(always)]
    pub(crate) fn seal(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        extra: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.0.seal(nonce, aad, input, extra, out)
    }

    /// See [`AeadContext::seal_in_place`].
    #[inline]
    pub(crate) fn seal_in_place(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.0.seal_in_place(nonce, aad, body, tag)
    }

    /// See [`AeadContext::open`].
    #[inline(always)]
    pub(crate) fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &[u8],
        tag: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.0.open(nonce, aad, body, tag, out)
    }

    /// See [`AeadContext::open_in_place`].
    #[inline]
    pub(crate) fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
        tag: &[u8],
    ) -> Result<(), CryptoError> {
        self.0.open_in_place(nonce, aad, body, tag)
    }
}
