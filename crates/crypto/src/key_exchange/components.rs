//! The components of a key exchange algorithm.
//!
//! Only this file splits shares and secrets into their components and joins them. See `mod.rs`,
//! which uses it in both roles.

use super::KeyExchangeAlgorithm;
use crate::backend::ec::Curve;
use crate::backend::kem::{self, Kem};
use crate::backend::secret::SharedSecret;
use crate::error::CryptoError;

impl KeyExchangeAlgorithm {
    pub(super) fn components(self) -> Components {
        let (classic, kem, kem_first) = match self {
            Self::X25519 => (Some(Classic::X25519), None, false),
            Self::P256 => (Some(Classic::Nist(Curve::P256)), None, false),
            Self::P384 => (Some(Classic::Nist(Curve::P384)), None, false),
            Self::P521 => (Some(Classic::Nist(Curve::P521)), None, false),
            Self::X25519MlKem768 => (Some(Classic::X25519), Some(Kem::MlKem768), true),
            Self::SecP256r1MlKem768 => {
                (Some(Classic::Nist(Curve::P256)), Some(Kem::MlKem768), false)
            }
            Self::SecP384r1MlKem1024 => {
                (Some(Classic::Nist(Curve::P384)), Some(Kem::MlKem1024), false)
            }
            Self::MlKem768 => (None, Some(Kem::MlKem768), true),
            Self::MlKem1024 => (None, Some(Kem::MlKem1024), true),
        };
        Components { classic, kem, kem_first }
    }
}

/// The components of an algorithm, and their order. One component may be absent.
#[derive(Clone, Copy)]
pub(super) struct Components {
    pub(super) classic: Option<Classic>,
    pub(super) kem: Option<Kem>,
    pub(super) kem_first: bool,
}

/// The halves of a share or a secret; the half of an absent component is empty.
pub(super) struct Halves<T> {
    pub(super) classic: T,
    pub(super) kem: T,
}

impl Components {
    /// The length of the Diffie-Hellman half of a share.
    pub(super) fn classic_share_len(self) -> usize {
        self.classic.map_or(0, Classic::share_len)
    }

    /// Splits a peer's share. Its ML-KEM half has `kem_len` bytes.
    pub(super) fn split(self, share: &[u8], kem_len: usize) -> Result<Halves<&[u8]>, CryptoError> {
        let classic_len = self.classic_share_len();
        if share.len() != classic_len + kem_len {
            return Err(CryptoError::InvalidShare);
        }
        let (first, second) = share.split_at(if self.kem_first { kem_len } else { classic_len });
        Ok(self.in_order(first, second))
    }

    /// Splits a share of this side. The ML-KEM half has all bytes that do not belong to the
    /// Diffie-Hellman half.
    pub(super) fn split_mut(self, share: &mut [u8]) -> Halves<&mut [u8]> {
        let classic_len = self.classic_share_len();
        let kem_len = share.len() - classic_len;
        let (first, second) =
            share.split_at_mut(if self.kem_first { kem_len } else { classic_len });
        self.in_order(first, second)
    }

    /// A shared secret whose halves are written by `write`.
    pub(super) fn shared_secret(
        self,
        write: impl FnOnce(Halves<&mut [u8]>) -> Result<(), CryptoError>,
    ) -> Result<SharedSecret, CryptoError> {
        let classic_len = self.classic.map_or(0, Classic::secret_len);
        let kem_len = self.kem.map_or(0, |_| kem::SECRET_LEN);
        SharedSecret::try_with(classic_len + kem_len, |secret| {
            let (first, second) =
                secret.split_at_mut(if self.kem_first { kem_len } else { classic_len });
            write(self.in_order(first, second))
        })
    }

    fn in_order<T>(self, first: T, second: T) -> Halves<T> {
        if self.kem_first {
            Halves { kem: first, classic: second }
        } else {
            Halves { classic: first, kem: second }
        }
    }
}

/// A Diffie-Hellman function.
#[derive(Clone, Copy)]
pub(super) enum Classic {
    X25519,
    Nist(Curve),
}

impl Classic {
    pub(super) fn share_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::Nist(curve) => curve.point_len(),
        }
    }

    pub(super) fn secret_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::Nist(curve) => curve.field_len(),
        }
    }

    pub(super) fn algorithm(self) -> KeyExchangeAlgorithm {
        match self {
            Self::X25519 => KeyExchangeAlgorithm::X25519,
            Self::Nist(Curve::P256) => KeyExchangeAlgorithm::P256,
            Self::Nist(Curve::P384) => KeyExchangeAlgorithm::P384,
            Self::Nist(Curve::P521) => KeyExchangeAlgorithm::P521,
        }
    }
}
