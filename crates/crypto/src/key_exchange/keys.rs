//! The private keys of a key exchange, and where their randomness enters.
//!
//! What it is for: one type over X25519 and the NIST curves, and the four draws of randomness, each
//! of which a test can replace. What it must not know: the order of a hybrid's halves. Where to
//! look next: `deterministic.rs`, `backend/{x25519,ec,kem}.rs`.

use super::parts::Classic;
use crate::backend::ec::{Curve, EcKey};
use crate::backend::kem::{Kem, KemKey};
use crate::backend::x25519;
use crate::{CryptoError, Secret};

/// A Diffie-Hellman private key.
pub(super) enum ClassicKey {
    X25519(Secret),
    Nist(EcKey),
}

impl ClassicKey {
    /// Makes a key pair and writes its share.
    pub(super) fn generate(classic: Classic, share: &mut [u8]) -> Result<Self, CryptoError> {
        match classic {
            Classic::X25519 => {
                let private = Secret::try_with(32, |private| {
                    let private = private.try_into().map_err(|_| CryptoError::Internal)?;
                    share.copy_from_slice(&generate_x25519(private));
                    Ok(())
                })?;
                Ok(Self::X25519(private))
            }
            Classic::Nist(curve) => {
                let key = generate_nist(curve)?;
                key.write_point(share)?;
                Ok(Self::Nist(key))
            }
        }
    }

    /// The key pair of a given private key; writes its share.
    #[cfg(feature = "deterministic")]
    pub(super) fn from_private(
        classic: Classic,
        private: &[u8],
        share: &mut [u8],
    ) -> Result<Self, CryptoError> {
        match classic {
            Classic::X25519 => {
                let array = private.try_into().map_err(|_| CryptoError::InvalidKey)?;
                share.copy_from_slice(&x25519::public_from_private(array));
                Ok(Self::X25519(Secret::new(private)))
            }
            Classic::Nist(curve) => {
                let key = EcKey::from_scalar(curve, private)?;
                key.write_point(share)?;
                Ok(Self::Nist(key))
            }
        }
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

// The four places where randomness enters. Each asks the test seed first, if it is compiled in.

fn generate_x25519(private: &mut [u8; 32]) -> [u8; 32] {
    #[cfg(feature = "deterministic")]
    if let Some(drawn) = crate::deterministic::draw() {
        *private = drawn;
        return x25519::public_from_private(private);
    }
    x25519::generate(private)
}

fn generate_nist(curve: Curve) -> Result<EcKey, CryptoError> {
    #[cfg(feature = "deterministic")]
    if let Some(drawn) = crate::deterministic::draw::<96>() {
        return EcKey::derive(curve, &drawn);
    }
    EcKey::generate(curve)
}

pub(super) fn generate_kem(kem: Kem, share: &mut [u8]) -> Result<KemKey, CryptoError> {
    #[cfg(feature = "deterministic")]
    if let Some(drawn) = crate::deterministic::draw() {
        let key = KemKey::from_seed(kem, &drawn)?;
        key.write_public_key(share)?;
        return Ok(key);
    }
    let key = KemKey::generate(kem)?;
    key.write_public_key(share)?;
    Ok(key)
}

pub(super) fn encapsulate(
    kem: Kem,
    public_key: &[u8],
    ciphertext: &mut [u8],
    secret: &mut [u8],
) -> Result<(), CryptoError> {
    #[cfg(feature = "deterministic")]
    if let Some(drawn) = crate::deterministic::draw() {
        return kem.encapsulate_with(&drawn, public_key, ciphertext, secret);
    }
    kem.encapsulate(public_key, ciphertext, secret)
}
