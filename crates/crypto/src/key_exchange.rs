//! Key exchange: ephemeral Diffie-Hellman, and its hybrids with ML-KEM.
//!
//! What it is for: one shape for both roles. Whoever speaks first makes a [`KeyExchange`], sends
//! its share and later agrees; the other side responds in one call. What it must not know: named
//! groups. Where to look next: `backend/{x25519,ec,kem}.rs`.
//!
//! A hybrid's shares and secrets are those of its halves, one after the other, in an order that
//! belongs to the hybrid: draft-ietf-tls-ecdhe-mlkem, section 4.

use core::fmt;

use crate::backend::ec::{Curve, EcKey};
use crate::backend::kem::{self, Kem, KemKey};
use crate::backend::x25519;
use crate::{CryptoError, Secret, SharedSecret};

/// The ways to agree on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyExchangeAlgorithm {
    /// X25519, RFC 7748.
    X25519,
    /// ECDH on P-256.
    P256,
    /// ECDH on P-384.
    P384,
    /// ECDH on P-521.
    P521,
    /// ML-KEM-768, then X25519.
    X25519MlKem768,
    /// ECDH on P-256, then ML-KEM-768.
    SecP256r1MlKem768,
    /// ECDH on P-384, then ML-KEM-1024.
    SecP384r1MlKem1024,
}

impl KeyExchangeAlgorithm {
    /// The length of the share of whoever speaks first.
    #[must_use]
    pub fn client_share_len(self) -> usize {
        let Parts { classic, kem, .. } = self.parts();
        classic.share_len() + kem.map_or(0, Kem::public_key_len)
    }

    /// The length of the response.
    #[must_use]
    pub fn server_share_len(self) -> usize {
        let Parts { classic, kem, .. } = self.parts();
        classic.share_len() + kem.map_or(0, Kem::ciphertext_len)
    }

    fn parts(self) -> Parts {
        let (classic, kem, kem_first) = match self {
            Self::X25519 => (Classic::X25519, None, false),
            Self::P256 => (Classic::Nist(Curve::P256), None, false),
            Self::P384 => (Classic::Nist(Curve::P384), None, false),
            Self::P521 => (Classic::Nist(Curve::P521), None, false),
            Self::X25519MlKem768 => (Classic::X25519, Some(Kem::MlKem768), true),
            Self::SecP256r1MlKem768 => (Classic::Nist(Curve::P256), Some(Kem::MlKem768), false),
            Self::SecP384r1MlKem1024 => (Classic::Nist(Curve::P384), Some(Kem::MlKem1024), false),
        };
        Parts { classic, kem, kem_first }
    }
}

/// An ephemeral key pair and its share. One box, so it is cheap to move and leaves no copies.
pub struct KeyExchange(Box<Inner>);

struct Inner {
    algorithm: KeyExchangeAlgorithm,
    classic: ClassicKey,
    kem: Option<KemKey>,
    share: Vec<u8>,
}

impl KeyExchange {
    /// Makes a fresh key pair.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Internal`] when the generator fails.
    pub fn generate(algorithm: KeyExchangeAlgorithm) -> Result<Self, CryptoError> {
        let parts = algorithm.parts();
        let mut share = vec![0; algorithm.client_share_len()];
        let halves = parts.split_mut(&mut share);
        let classic = ClassicKey::generate(parts.classic, halves.classic)?;
        let kem = match parts.kem {
            Some(kem) => Some(generate_kem(kem, halves.kem)?),
            None => None,
        };
        Ok(Self(Box::new(Inner { algorithm, classic, kem, share })))
    }

    /// The key pair of a published private key, for replaying traces.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] for a hybrid, [`CryptoError::InvalidKey`] for a private key of
    /// a wrong length or value.
    #[cfg(feature = "deterministic")]
    pub fn from_private(
        algorithm: KeyExchangeAlgorithm,
        private: &[u8],
    ) -> Result<Self, CryptoError> {
        let parts = algorithm.parts();
        if parts.kem.is_some() {
            return Err(CryptoError::Unsupported);
        }
        let mut share = vec![0; algorithm.client_share_len()];
        let classic = match parts.classic {
            Classic::X25519 => {
                let array = private.try_into().map_err(|_| CryptoError::InvalidKey)?;
                share.copy_from_slice(&x25519::public_from_private(array));
                ClassicKey::X25519(Secret::new(private))
            }
            Classic::Nist(curve) => {
                let key = EcKey::from_scalar(curve, private)?;
                key.write_point(&mut share)?;
                ClassicKey::Nist(key)
            }
        };
        Ok(Self(Box::new(Inner { algorithm, classic, kem: None, share })))
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> KeyExchangeAlgorithm {
        self.0.algorithm
    }

    /// The public share as it goes over the wire: 32 bytes for X25519, an uncompressed point for
    /// the NIST curves, both halves for a hybrid.
    #[must_use]
    pub fn public_share(&self) -> &[u8] {
        &self.0.share
    }

    /// The classic half of a hybrid: its algorithm and its part of the share, which may be offered
    /// on its own too.
    #[must_use]
    pub fn classic(&self) -> Option<(KeyExchangeAlgorithm, &[u8])> {
        let parts = self.0.algorithm.parts();
        let kem = parts.kem?;
        let len = parts.classic.share_len();
        let start = if parts.kem_first { kem.public_key_len() } else { 0 };
        Some((parts.classic.algorithm(), &self.0.share[start..start + len]))
    }

    /// Agrees with the peer's response.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidShare`] for a response of a wrong length, a point that is not on the
    /// curve or not uncompressed, or an all-zero X25519 secret.
    pub fn agree(self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let parts = self.0.algorithm.parts();
        let kem_len = parts.kem.map_or(0, Kem::ciphertext_len);
        let peer = parts.split(peer_share, kem_len)?;
        parts.shared_secret(|secret| {
            self.0.classic.agree(peer.classic, secret.classic)?;
            match &self.0.kem {
                Some(key) => key.decapsulate(peer.kem, secret.kem),
                None => Ok(()),
            }
        })
    }

    /// Agrees with a peer that took the classic half only.
    ///
    /// # Errors
    ///
    /// As [`Self::agree`].
    pub fn agree_classic(self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let classic = self.0.algorithm.parts().classic;
        if peer_share.len() != classic.share_len() {
            return Err(CryptoError::InvalidShare);
        }
        SharedSecret::try_with(classic.secret_len(), |secret| {
            self.0.classic.agree(peer_share, secret)
        })
    }

    /// Responds to a share: makes a key pair, or encapsulates, or both, and agrees at once.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidShare`] as for [`Self::agree`], and for an ML-KEM key with a
    /// coefficient beyond the modulus (FIPS 203 7.2); [`CryptoError::Internal`] when the generator
    /// fails.
    pub fn respond(
        algorithm: KeyExchangeAlgorithm,
        client_share: &[u8],
    ) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let parts = algorithm.parts();
        let peer = parts.split(client_share, parts.kem.map_or(0, Kem::public_key_len))?;
        let mut share = vec![0; algorithm.server_share_len()];
        let own = parts.split_mut(&mut share);
        let secret = parts.shared_secret(|secret| {
            ClassicKey::generate(parts.classic, own.classic)?
                .agree(peer.classic, secret.classic)?;
            match parts.kem {
                Some(kem) => encapsulate(kem, peer.kem, own.kem, secret.kem),
                None => Ok(()),
            }
        })?;
        Ok((share, secret))
    }
}

impl fmt::Debug for KeyExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyExchange({:?}, ..)", self.0.algorithm)
    }
}

/// What an algorithm is made of, and in which order its halves stand.
#[derive(Clone, Copy)]
struct Parts {
    classic: Classic,
    kem: Option<Kem>,
    kem_first: bool,
}

/// A share or a secret taken apart; `kem` is empty where there is none.
struct Halves<T> {
    classic: T,
    kem: T,
}

impl Parts {
    /// Takes a peer's share apart, of which `kem_len` bytes belong to ML-KEM.
    fn split(self, share: &[u8], kem_len: usize) -> Result<Halves<&[u8]>, CryptoError> {
        let classic_len = self.classic.share_len();
        if share.len() != classic_len + kem_len {
            return Err(CryptoError::InvalidShare);
        }
        let (first, second) = share.split_at(if self.kem_first { kem_len } else { classic_len });
        Ok(self.in_order(first, second))
    }

    /// Takes a share of our own apart, whatever it is of ML-KEM's.
    fn split_mut(self, share: &mut [u8]) -> Halves<&mut [u8]> {
        let classic_len = self.classic.share_len();
        let kem_len = share.len() - classic_len;
        let (first, second) =
            share.split_at_mut(if self.kem_first { kem_len } else { classic_len });
        self.in_order(first, second)
    }

    /// A shared secret whose halves `write` fills in.
    fn shared_secret(
        self,
        write: impl FnOnce(Halves<&mut [u8]>) -> Result<(), CryptoError>,
    ) -> Result<SharedSecret, CryptoError> {
        let classic_len = self.classic.secret_len();
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
enum Classic {
    X25519,
    Nist(Curve),
}

impl Classic {
    fn share_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::Nist(curve) => curve.point_len(),
        }
    }

    fn secret_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::Nist(curve) => curve.field_len(),
        }
    }

    fn algorithm(self) -> KeyExchangeAlgorithm {
        match self {
            Self::X25519 => KeyExchangeAlgorithm::X25519,
            Self::Nist(Curve::P256) => KeyExchangeAlgorithm::P256,
            Self::Nist(Curve::P384) => KeyExchangeAlgorithm::P384,
            Self::Nist(Curve::P521) => KeyExchangeAlgorithm::P521,
        }
    }
}

/// A Diffie-Hellman private key.
enum ClassicKey {
    X25519(Secret),
    Nist(EcKey),
}

impl ClassicKey {
    /// Makes a key pair and writes its share.
    fn generate(classic: Classic, share: &mut [u8]) -> Result<Self, CryptoError> {
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

    /// Writes the secret shared with `peer`.
    fn agree(&self, peer: &[u8], secret: &mut [u8]) -> Result<(), CryptoError> {
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

fn generate_kem(kem: Kem, share: &mut [u8]) -> Result<KemKey, CryptoError> {
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

fn encapsulate(
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
