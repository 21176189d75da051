//! Key exchange: ephemeral Diffie-Hellman, ML-KEM, and hybrids of the two.
//!
//! What it is for: one shape for both roles. Whoever speaks first makes a [`KeyExchange`], sends
//! its share and later agrees; the other side responds in one call. What it must not know: named
//! groups. Where to look next: `parts.rs` for what an algorithm consists of, `drawn.rs` for the
//! randomness, `keys.rs` for the private keys, `backend/{x25519,ec,kem}.rs` for the calls.
//!
//! A hybrid's shares and secrets are those of its halves, one after the other, in an order that
//! belongs to the hybrid; draft-ietf-tls-ecdhe-mlkem sets it out.

mod drawn;
mod keys;
mod parts;

use core::fmt;
use core::ops::Range;

use drawn::Drawn;
use keys::ClassicKey;

use crate::backend::kem::{Kem, KemKey};
use crate::{CryptoError, SharedSecret};

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
    /// ML-KEM-768 alone.
    MlKem768,
    /// ML-KEM-1024 alone.
    MlKem1024,
}

impl KeyExchangeAlgorithm {
    /// The length of the longest share, of either side: a point on P-384 and what ML-KEM-1024 sends.
    pub const MAX_SHARE_LEN: usize = 97 + 1568;

    /// The length of the share of whoever speaks first.
    #[must_use]
    pub fn client_share_len(self) -> usize {
        let parts = self.parts();
        parts.classic_share_len() + parts.kem.map_or(0, Kem::public_key_len)
    }

    /// The classic half of a hybrid and its place in a client's share, for that part may be offered on
    /// its own too.
    #[must_use]
    pub fn classic(self) -> Option<(Self, Range<usize>)> {
        let parts = self.parts();
        let (classic, kem) = (parts.classic?, parts.kem?);
        let start = if parts.kem_first { kem.public_key_len() } else { 0 };
        Some((classic.algorithm(), start..start + classic.share_len()))
    }

    /// The length of the response.
    #[must_use]
    pub fn server_share_len(self) -> usize {
        let parts = self.parts();
        parts.classic_share_len() + parts.kem.map_or(0, Kem::ciphertext_len)
    }
}

/// An ephemeral key pair and its share, held inline: to be used up by a function's end, or where it is wiped with what
/// it lies in.
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
    /// [`KeyExchangeAlgorithm::client_share_len`] bytes. It keeps no copy: [`Self::public_share`] is
    /// empty.
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
        let parts = algorithm.parts();
        let halves = parts.split_mut(share);
        let mut drawn = Drawn::for_key_pair(parts);
        drawn.draw()?;
        let classic = match parts.classic {
            Some(classic) => Some(ClassicKey::generate(classic, &drawn, halves.classic)?),
            None => None,
        };
        let kem = match parts.kem {
            Some(kem) => Some(KemKey::from_seed(kem, drawn.kem(), halves.kem)?),
            None => None,
        };
        Ok(Self(Inner { algorithm, classic, kem, share: Vec::new() }))
    }

    /// Test seam. The key pair of a published private key, for replaying traces.
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
        let parts = algorithm.parts();
        let (Some(classic), None) = (parts.classic, parts.kem) else {
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

    /// The public share as it goes over the wire: 32 bytes for X25519, an uncompressed point for
    /// the NIST curves, an encapsulation key for ML-KEM, both halves for a hybrid.
    #[must_use]
    pub fn public_share(&self) -> &[u8] {
        &self.0.share
    }

    /// The classic half of a hybrid: its algorithm and its part of the share, which may be offered
    /// on its own too. `None` also if the share was not kept.
    #[must_use]
    pub fn classic(&self) -> Option<(KeyExchangeAlgorithm, &[u8])> {
        let (classic, place) = self.0.algorithm.classic()?;
        Some((classic, self.0.share.get(place)?))
    }

    /// Agrees with the peer's response.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidShare`] for a response of a wrong length, a point that is not on the
    /// curve or not uncompressed, or an all-zero X25519 secret.
    pub fn agree(self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        self.agree_in_place(peer_share)
    }

    /// As [`Self::agree`], for a key pair that lies where nobody wipes what was moved away: it is to be dropped there
    /// afterwards, and not to be used again.
    ///
    /// # Errors
    ///
    /// As [`Self::agree`].
    pub fn agree_in_place(&self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let parts = self.0.algorithm.parts();
        let kem_len = parts.kem.map_or(0, Kem::ciphertext_len);
        let peer = parts.split(peer_share, kem_len)?;
        parts.shared_secret(|secret| {
            if let Some(key) = &self.0.classic {
                key.agree(peer.classic, secret.classic)?;
            }
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
    /// As [`Self::agree`]; [`CryptoError::InvalidShare`] too if there is no classic half.
    pub fn agree_classic(self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        self.agree_classic_in_place(peer_share)
    }

    /// As [`Self::agree_classic`] and [`Self::agree_in_place`].
    ///
    /// # Errors
    ///
    /// As [`Self::agree_classic`].
    pub fn agree_classic_in_place(&self, peer_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let parts = self.0.algorithm.parts();
        let (Some(classic), Some(key)) = (parts.classic, &self.0.classic) else {
            return Err(CryptoError::InvalidShare);
        };
        if peer_share.len() != classic.share_len() {
            return Err(CryptoError::InvalidShare);
        }
        SharedSecret::try_with(classic.secret_len(), |secret| key.agree(peer_share, secret))
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
        let mut share = vec![0; algorithm.server_share_len()];
        let secret = Self::respond_into(algorithm, client_share, &mut share)?;
        Ok((share, secret))
    }

    /// As [`Self::respond`], with our share written to `share`, of
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
        let parts = algorithm.parts();
        let peer = parts.split(client_share, parts.kem.map_or(0, Kem::public_key_len))?;
        let own = parts.split_mut(share);
        let mut drawn = Drawn::for_response(parts);
        drawn.draw()?;
        parts.shared_secret(|secret| {
            if let Some(classic) = parts.classic {
                let key = ClassicKey::generate(classic, &drawn, own.classic)?;
                key.agree(peer.classic, secret.classic)?;
            }
            match parts.kem {
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
