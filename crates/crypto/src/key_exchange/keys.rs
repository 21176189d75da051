//! The private keys of a key exchange: one type for X25519 and the NIST curves.
//!
//! See `randomness.rs` for the randomness, and `backend/{x25519,ec}.rs` for the calls.

use super::components::Classic;
use super::randomness::PrivateRandomness;
use crate::backend::ec::{Curve, EcKey};
use crate::backend::x25519;
use crate::error::CryptoError;

/// A Diffie-Hellman private key, stored on the heap: moving this handle does not move the secret.
pub(super) enum ClassicKey {
    X25519(x25519::PrivateKey),
    Nist(EcKey),
}

impl ClassicKey {
    /// Makes a key pair from drawn random bytes, and writes its share.
    pub(super) fn generate(
        classic: Classic,
        drawn: &PrivateRandomness,
        share: &mut [u8],
    ) -> Result<Self, CryptoError> {
        match classic {
            Classic::X25519 => Self::x25519(drawn.traditional(), share),
            Classic::Nist(curve) => Self::nist(generate_nist(curve, drawn.traditional())?, share),
        }
    }

    /// Makes the key pair of a given private key, and writes the pair's share.
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

    /// Makes a key pair from drawn random bytes, and writes its share and the secret shared with
    /// `peer`. An X25519 private key is used in place and not copied.
    pub(super) fn respond(
        classic: Classic,
        drawn: &PrivateRandomness,
        (share, peer): (&mut [u8], &[u8]),
        secret: &mut [u8],
    ) -> Result<(), CryptoError> {
        match classic {
            Classic::X25519 => {
                let private = as_array(drawn.traditional(), CryptoError::Internal)?;
                share.copy_from_slice(&x25519::public_from_private(private));
                agree_x25519(private, peer, secret)
            }
            Classic::Nist(_) => Self::generate(classic, drawn, share)?.agree(peer, secret),
        }
    }

    fn x25519(private: &[u8], share: &mut [u8]) -> Result<Self, CryptoError> {
        let private = as_array(private, CryptoError::InvalidKey)?;
        share.copy_from_slice(&x25519::public_from_private(private));
        x25519::PrivateKey::new(private).map(Self::X25519)
    }

    fn nist(key: EcKey, share: &mut [u8]) -> Result<Self, CryptoError> {
        key.write_point(share)?;
        Ok(Self::Nist(key))
    }

    /// Writes the secret shared with `peer`.
    pub(super) fn agree(&self, peer: &[u8], secret: &mut [u8]) -> Result<(), CryptoError> {
        match self {
            Self::X25519(private) => agree_x25519(private.bytes(), peer, secret),
            Self::Nist(key) => key.agree(peer, secret),
        }
    }
}

fn agree_x25519(private: &[u8; 32], peer: &[u8], secret: &mut [u8]) -> Result<(), CryptoError> {
    let peer = as_array(peer, CryptoError::InvalidShare)?;
    let secret = secret.try_into().map_err(|_| CryptoError::Internal)?;
    x25519::agree(private, peer, secret)
}

/// The bytes as an array, without a copy. Returns the error `otherwise` unless there are 32 bytes.
fn as_array(bytes: &[u8], otherwise: CryptoError) -> Result<&[u8; 32], CryptoError> {
    bytes.try_into().map_err(|_| otherwise)
}

/// Makes a key on a NIST curve. AWS-LC's generator draws until the scalar is in range; in a test,
/// the key is derived from the bytes of the test's source.
fn generate_nist(curve: Curve, drawn: &[u8]) -> Result<EcKey, CryptoError> {
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    if !drawn.is_empty() {
        return EcKey::derive(curve, drawn);
    }
    debug_assert!(drawn.is_empty());
    EcKey::generate(curve)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::hint::black_box;

    use super::super::{KeyExchange, KeyExchangeAlgorithm};
    use crate::deterministic::with_bytes;
    use crate::stack_search::{StackSearch, leave, words};

    /// The stack is searched before any deeper function runs, because such a function might
    /// overwrite a copy.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "for optimised builds")]
    fn no_copy_of_an_x25519_key_is_left_on_the_stack() {
        let mut stack = StackSearch::new();
        let drawn: Vec<u8> = (0..96).map(|at| 151_u8.wrapping_mul(at) ^ 0xa5).collect();
        let private = words(&drawn[..32], 0);
        for algorithm in [KeyExchangeAlgorithm::X25519, KeyExchangeAlgorithm::X25519MlKem768] {
            let mut kept = None;
            let left = stack.left(&private, || with_bytes(&drawn, || make(algorithm, &mut kept)));
            assert_eq!(left, 0, "{algorithm:?}, made and kept");
            let client_share = kept.as_ref().unwrap().public_share();
            let left =
                stack.left(&private, || with_bytes(&drawn, || respond(algorithm, client_share)));
            assert_eq!(left, 0, "{algorithm:?}, in a response");
            let (answer, _) = KeyExchange::respond(algorithm, client_share).unwrap();
            let left = stack.left(&private, || agree(&mut kept, &answer));
            assert_eq!(left, 0, "{algorithm:?}, agreed and dropped");
        }
        // Checks that the search would have found a copy.
        assert_ne!(stack.left(&private, || leave(&private)), 0);
    }

    /// Makes a key pair and moves its handle, as a handshake does.
    #[inline(never)]
    fn make(algorithm: KeyExchangeAlgorithm, kept: &mut Option<Box<KeyExchange>>) {
        let made = black_box(KeyExchange::generate(algorithm).unwrap());
        let moved = black_box(Some((made, [0_u64; 100])));
        *kept = moved.map(|moved| Box::new(moved.0));
    }

    #[inline(never)]
    fn respond(algorithm: KeyExchangeAlgorithm, client_share: &[u8]) {
        drop(black_box(KeyExchange::respond(algorithm, client_share).unwrap()));
    }

    #[inline(never)]
    fn agree(kept: &mut Option<Box<KeyExchange>>, answer: &[u8]) {
        drop(black_box(kept.take().unwrap().agree(answer).unwrap()));
    }
}
