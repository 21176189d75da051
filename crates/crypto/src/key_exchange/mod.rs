//! Key exchange: ephemeral Diffie-Hellman, ML-KEM, and hybrids of the two.
//!
//! The initiator (a TLS client) makes a [`KeyExchange`], sends its share and later computes the
//! secret; the responder does both in one call. See `components.rs` for an algorithm's parts,
//! `randomness.rs` for the randomness, `keys.rs` for the private keys, and
//! `backend/{x25519,ec,kem}.rs` for the calls.
//!
//! A hybrid's shares are the concatenated shares of its components, and its secrets are the
//! concatenated secrets of its components, in the order that draft-ietf-tls-ecdhe-mlkem defines for
//! each hybrid.

mod components;
mod keys;
mod randomness;

use core::fmt;
use core::ops::Range;

use keys::ClassicKey;
use randomness::{KEY_PAIR, PrivateRandomness, RESPONSE};

use crate::backend::kem::{Kem, KemKey};
use crate::backend::secret::SharedSecret;
use crate::error::CryptoError;

/// A key exchange algorithm.
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
    /// ML-KEM-768 alone.
    MlKem768,
    /// ML-KEM-1024 alone.
    MlKem1024,
}

impl KeyExchangeAlgorithm {
    /// The length of the longest share of either side: a point on P-384 and a key or ciphertext of
    /// ML-KEM-1024.
    pub const MAX_SHARE_LEN: usize = 97 + 1568;

    /// The length of the initiator's share.
    #[must_use]
    pub fn client_share_len(self) -> usize {
        let components = self.components();
        components.classic_share_len() + components.kem.map_or(0, Kem::public_key_len)
    }

    /// The Diffie-Hellman component of a hybrid, and the range of its share in the client's share.
    /// This part may also be offered as a share of its own.
    #[must_use]
    pub fn traditional(self) -> Option<(Self, Range<usize>)> {
        let components = self.components();
        let (classic, kem) = (components.classic?, components.kem?);
        let start = if components.kem_first { kem.public_key_len() } else { 0 };
        Some((classic.algorithm(), start..start + classic.share_len()))
    }

    /// The length of the responder's share.
    #[must_use]
    pub fn server_share_len(self) -> usize {
        let components = self.components();
        components.classic_share_len() + components.kem.map_or(0, Kem::ciphertext_len)
    }
}

/// An ephemeral key pair and its share. The private keys are on the heap from their generation
/// until they are wiped, so moving this value does not move them.
pub struct KeyExchange(Inner);

struct Inner {
    algorithm: KeyExchangeAlgorithm,
    classic: Option<ClassicKey>,
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
        let mut share = vec![0; algorithm.client_share_len()];
        let mut exchange = Self::generate_into(algorithm, &mut share)?;
        exchange.0.share = share;
        Ok(exchange)
    }

    /// Makes a fresh key pair and writes its share to `share`, of
    /// [`KeyExchangeAlgorithm::client_share_len`] bytes. No copy is kept: [`Self::public_share`]
    /// is empty.
    ///
    /// # Errors
    ///
    /// [`CryptoError::BufferTooSmall`] when `share` has another length; [`CryptoError::Internal`]
    /// when the generator fails.
    pub fn generate_into(
        algorithm: KeyExchangeAlgorithm,
        share: &mut [u8],
    ) -> Result<Self, CryptoError> {
        if share.len() != algorithm.client_share_len() {
            return Err(CryptoError::BufferTooSmall);
        }
        let components = algorithm.components();
        let halves = components.split_mut(share);
        let mut drawn = PrivateRandomness::new(components, KEY_PAIR);
        drawn.draw()?;
        let classic = match components.classic {
            Some(classic) => Some(ClassicKey::generate(classic, &drawn, halves.classic)?),
            None => None,
        };
        let kem = match components.kem {
            Some(kem) => Some(KemKey::generate(kem, drawn.kem(), halves.kem)?),
            None => None,
        };
        Ok(Self(Inner { algorithm, classic, kem, share: Vec::new() }))
    }

    /// Test seam. Makes the key pair of a published private key, for replaying traces.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] with ML-KEM, [`CryptoError::InvalidKey`] for a private key of
    /// a wrong length or value.
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    pub fn from_private(
        algorithm: KeyExchangeAlgorithm,
        private: &[u8],
    ) -> Result<Self, CryptoError> {
        let components = algorithm.components();
        let (Some(classic), None) = (components.classic, components.kem) else {
            return Err(CryptoError::Unsupported);
        };
        let mut share = vec![0; algorithm.client_share_len()];
        let classic = ClassicKey::from_private(classic, private, &mut share)?;
        Ok(Self(Inner { algorithm, classic: Some(classic), kem: None, share }))
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> KeyExchangeAlgorithm {
        self.0.algorithm
    }

    /// The public share as sent: 32 bytes for X25519, an uncompressed point for the NIST curves,
    /// an encapsulation key for ML-KEM, both halves for a hybrid.
    #[must_use]
    pub fn public_share(&self) -> &[u8] {
        &self.0.share
    }

    /// The Diffie-Hellman component of a hybrid: its algorithm and its part of the share, which
    /// may also be offered as a share of its own. `None` also if the share was not stored.
    #[must_use]
    pub fn traditional(&self) -> Option<(KeyExchangeAlgorithm, &[u8])> {
        let (classic, place) = self.0.algorithm.traditional()?;
        Some((classic, self.0.share.get(place)?))
    }

    /// Computes the shared secret from the peer's response.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidShare`] for a response of a wrong length, a point that is not on the
    /// curve or not uncompressed, or an all-zero X25519 secret.
    pub fn agree(self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        self.agree_in_place(peer_share)
    }

    /// As [`Self::agree`], for a key pair that must not be moved, because a move leaves an unwiped
    /// copy. The caller must drop the key pair in place, and not use it again.
    ///
    /// # Errors
    ///
    /// As [`Self::agree`].
    pub fn agree_in_place(&self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let components = self.0.algorithm.components();
        let kem_len = components.kem.map_or(0, Kem::ciphertext_len);
        let peer = components.split(peer_share, kem_len)?;
        components.shared_secret(|secret| {
            if let Some(key) = &self.0.classic {
                key.agree(peer.classic, secret.classic)?;
            }
            match &self.0.kem {
                Some(key) => key.decapsulate(peer.kem, secret.kem),
                None => Ok(()),
            }
        })
    }

    /// Computes the shared secret with a peer that selected the Diffie-Hellman component only.
    ///
    /// # Errors
    ///
    /// As [`Self::agree`]; [`CryptoError::InvalidShare`] also if the algorithm is not a hybrid.
    pub fn agree_traditional(self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        self.agree_traditional_in_place(peer_share)
    }

    /// As [`Self::agree_traditional`], for a key pair that stays in place as in
    /// [`Self::agree_in_place`].
    ///
    /// # Errors
    ///
    /// As [`Self::agree_traditional`].
    pub fn agree_traditional_in_place(
        &self,
        peer_share: &[u8],
    ) -> Result<SharedSecret, CryptoError> {
        let components = self.0.algorithm.components();
        let (Some(classic), Some(key)) = (components.classic, &self.0.classic) else {
            return Err(CryptoError::InvalidShare);
        };
        if peer_share.len() != classic.share_len() {
            return Err(CryptoError::InvalidShare);
        }
        SharedSecret::try_with(classic.secret_len(), |secret| key.agree(peer_share, secret))
    }

    /// Responds to a share: makes a key pair, or encapsulates, or both, and computes the shared
    /// secret.
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
        let mut share = vec![0; algorithm.server_share_len()];
        let secret = Self::respond_into(algorithm, client_share, &mut share)?;
        Ok((share, secret))
    }

    /// Like [`Self::respond`], but writes the server's share to `share`, which must have
    /// [`KeyExchangeAlgorithm::server_share_len`] bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::respond`], and [`CryptoError::BufferTooSmall`] when `share` has another length.
    pub fn respond_into(
        algorithm: KeyExchangeAlgorithm,
        client_share: &[u8],
        share: &mut [u8],
    ) -> Result<SharedSecret, CryptoError> {
        if share.len() != algorithm.server_share_len() {
            return Err(CryptoError::BufferTooSmall);
        }
        let components = algorithm.components();
        let peer = components.split(client_share, components.kem.map_or(0, Kem::public_key_len))?;
        let own = components.split_mut(share);
        let mut drawn = PrivateRandomness::new(components, RESPONSE);
        drawn.draw()?;
        components.shared_secret(|secret| {
            if let Some(classic) = components.classic {
                let shares = (own.classic, peer.classic);
                ClassicKey::respond(classic, &drawn, shares, secret.classic)?;
            }
            match components.kem {
                Some(kem) => kem.encapsulate(drawn.kem(), peer.kem, own.kem, secret.kem),
                None => Ok(()),
            }
        })
    }
}

impl fmt::Debug for KeyExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyExchange({:?}, ..)", self.0.algorithm)
    }
}
