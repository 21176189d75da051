//! The private keys of a key exchange.
//!
//! What it is for: one type over X25519 and the NIST curves. What it must not know: the order of a
//! hybrid's halves. Where to look next: `drawn.rs` for the randomness they are made of,
//! `backend/{x25519,ec}.rs`.

use super::drawn::Drawn;
use super::parts::Classic;
use crate::backend::ec::{Curve, EcKey};
use crate::backend::x25519;
use crate::{CryptoError, Secret};

/// A Diffie-Hellman private key.
pub(super) enum ClassicKey {
    X25519(Secret),
    Nist(EcKey),
}

impl ClassicKey {
    /// Makes a key pair of what was drawn, and writes its share.
    pub(super) fn generate(
        classic: Classic,
        drawn: &Drawn,
        share: &mut [u8],
    ) -> Result<Self, CryptoError> {
        match classic {
            Classic::X25519 => Self::x25519(drawn.classic(), share),
            Classic::Nist(curve) => Self::nist(generate_nist(curve, drawn.classic())?, share),
        }
    }

    /// The key pair of a given private key; writes its share.
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    pub(super) fn from_private(
        classic: Classic,
        private: &[u8],
        share: &mut [u8],
    ) -> Result<Self, CryptoError> {
        match classic {
            Classic::X25519 => Self::x25519(private, share),
            Classic::Nist(curve) => Self::nist(EcKey::from_scalar(curve, private)?, share),
        }
    }

    /// Any 32 bytes are a private key. RFC 7748 5
    fn x25519(private: &[u8], share: &mut [u8]) -> Result<Self, CryptoError> {
        let array = private.try_into().map_err(|_| CryptoError::InvalidKey)?;
        share.copy_from_slice(&x25519::public_from_private(array));
        Ok(Self::X25519(Secret::new(private)))
    }

    fn nist(key: EcKey, share: &mut [u8]) -> Result<Self, CryptoError> {
        key.write_point(share)?;
        Ok(Self::Nist(key))
    }

    /// Writes the secret shared with `peer`.
    pub(super) fn agree(&self, peer: &[u8], secret: &mut [u8]) -> Result<(), CryptoError> {
        match self {
            Self::X25519(private) => {
                let private = private.as_bytes().try_into().map_err(|_| CryptoError::Internal)?;
                let peer = peer.try_into().map_err(|_| CryptoError::InvalidShare)?;
                let secret = secret.try_into().map_err(|_| CryptoError::Internal)?;
                x25519::agree(private, peer, secret)
            }
            Self::Nist(key) => key.agree(peer, secret),
        }
    }
}

/// A key by AWS-LC's own generator, which draws until it has a scalar in range; with a test's source of what that gave.
fn generate_nist(curve: Curve, drawn: &[u8]) -> Result<EcKey, CryptoError> {
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    if !drawn.is_empty() {
        return EcKey::derive(curve, drawn);
    }
    debug_assert!(drawn.is_empty());
    EcKey::generate(curve)
}
