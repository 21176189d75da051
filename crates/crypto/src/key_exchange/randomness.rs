//! The randomness for the private values of a key exchange, drawn in one call.
//!
//! A call of the generator costs the same for 32 bytes as for 96, so the values of both components
//! are drawn together. The bytes live as long as the function that makes the keys, and are wiped
//! at its end. See `keys.rs` and `backend/kem.rs` for their use; in tests, `deterministic.rs`
//! replaces them.

use super::components::{Classic, Components};
use crate::backend::secret::SecretBytes;
use crate::error::CryptoError;
use crate::random::fill_random;

/// The random bytes of both components, Diffie-Hellman first.
pub(super) struct PrivateRandomness {
    bytes: SecretBytes<{ MOST_CLASSIC + KEY_PAIR }>,
    classic_len: usize,
}

impl PrivateRandomness {
    /// The bytes for a private key and, if the components have ML-KEM, `kem_len` bytes for it:
    /// [`KEY_PAIR`] or [`RESPONSE`].
    pub(super) fn new(components: Components, kem_len: usize) -> Self {
        let classic_len = components.classic.map_or(0, classic_len);
        let draws_kem = components.kem.is_some() && !is_kem_drawn_by_module();
        let len = classic_len + if draws_kem { kem_len } else { 0 };
        Self { bytes: SecretBytes::with(len, |_| ()), classic_len }
    }

    /// Draws the bytes in their final place, because moving them would leave an unwiped copy.
    pub(super) fn draw(&mut self) -> Result<(), CryptoError> {
        match self.bytes.as_mut_bytes() {
            [] => Ok(()),
            bytes => fill_random(bytes),
        }
    }

    /// The bytes of the Diffie-Hellman component: empty if AWS-LC draws its own.
    pub(super) fn traditional(&self) -> &[u8] {
        &self.bytes.as_bytes()[..self.classic_len]
    }

    /// The bytes of ML-KEM: 64 for a key pair, 32 for a response; empty if AWS-LC draws its own.
    pub(super) fn kem(&self) -> &[u8] {
        &self.bytes.as_bytes()[self.classic_len..]
    }
}

/// The number of bytes for a Diffie-Hellman private key. The number is 0 for a NIST curve, because
/// AWS-LC itself draws scalars until one is in range. With the source of a test, a scalar is
/// derived from bytes.
fn classic_len(classic: Classic) -> usize {
    match classic {
        Classic::X25519 => 32,
        #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
        Classic::Nist(_) if crate::deterministic::is_active() => MOST_CLASSIC,
        Classic::Nist(_) => 0,
    }
}

/// Whether AWS-LC draws the bytes of ML-KEM: its FIPS module does, except with the source of a
/// test.
fn is_kem_drawn_by_module() -> bool {
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    if crate::deterministic::is_active() {
        return false;
    }
    cfg!(feature = "fips")
}

const MOST_CLASSIC: usize =
    if cfg!(any(test, all(feature = "deterministic", debug_assertions))) { 96 } else { 32 };

/// The bytes of ML-KEM for an initiator: `d` and `z`. FIPS 203 7.1
pub(super) const KEY_PAIR: usize = 64;

/// The bytes of ML-KEM for a responder: `m`. FIPS 203 7.2
pub(super) const RESPONSE: usize = 32;

#[cfg(test)]
mod tests {
    use super::super::KeyExchangeAlgorithm as A;
    use super::*;

    #[test]
    fn each_component_gets_separate_bytes() {
        let lengths = |drawn: &PrivateRandomness| (drawn.traditional().len(), drawn.kem().len());
        let is_drawn = !cfg!(feature = "fips");
        for (algorithm, classic, kem) in [
            (A::X25519, 32, false),
            (A::P256, 0, false),
            (A::X25519MlKem768, 32, true),
            (A::SecP256r1MlKem768, 0, true),
            (A::MlKem1024, 0, true),
        ] {
            let components = algorithm.components();
            let (pair, response) = (
                PrivateRandomness::new(components, KEY_PAIR),
                PrivateRandomness::new(components, RESPONSE),
            );
            assert_eq!(lengths(&pair), (classic, if kem && is_drawn { 64 } else { 0 }));
            assert_eq!(lengths(&response), (classic, if kem && is_drawn { 32 } else { 0 }));
        }
    }

    #[test]
    fn no_bytes_are_drawn_twice() {
        let components = A::X25519MlKem768.components();
        let mut drawn = [
            PrivateRandomness::new(components, KEY_PAIR),
            PrivateRandomness::new(components, KEY_PAIR),
        ];
        let pieces = if cfg!(feature = "fips") { 4 } else { 12 };
        drawn.iter_mut().for_each(|drawn| drawn.draw().unwrap());
        let mut all: Vec<_> = drawn
            .iter()
            .flat_map(|drawn| {
                drawn.traditional().chunks_exact(16).chain(drawn.kem().chunks_exact(16))
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), pieces);
    }

    /// Searches for ML-KEM's bytes: `keys.rs` searches for X25519's.
    #[cfg(target_os = "linux")]
    #[test]
    #[cfg_attr(debug_assertions, ignore = "for optimised builds")]
    fn nothing_that_was_drawn_is_left_on_the_stack() {
        use super::super::KeyExchange;
        use crate::deterministic::with_bytes;
        use crate::stack_search::{StackSearch, leave, words};

        let mut stack = StackSearch::new();
        let drawn: Vec<u8> = (0..96).map(|at| 157_u8.wrapping_mul(at) ^ 0x5a).collect();
        let of_kem = words(&drawn[32..], 0);
        let algorithm = A::X25519MlKem768;
        let client = KeyExchange::generate(algorithm).unwrap();
        let mut share = vec![0; algorithm.server_share_len()];
        let left = stack.left(&of_kem, || {
            with_bytes(&drawn, || respond(algorithm, client.public_share(), &mut share));
        });
        assert_eq!(left, 0);
        let mut share = vec![0; algorithm.client_share_len()];
        let left = stack.left(&of_kem, || with_bytes(&drawn, || generate(algorithm, &mut share)));
        assert_eq!(left, 0);
        // Checks that the search would have found a copy.
        assert_ne!(stack.left(&of_kem, || leave(&of_kem)), 0);

        #[inline(never)]
        fn respond(algorithm: A, client_share: &[u8], share: &mut [u8]) {
            drop(KeyExchange::respond_into(algorithm, client_share, share).unwrap());
        }

        #[inline(never)]
        fn generate(algorithm: A, share: &mut [u8]) {
            drop(KeyExchange::generate_into(algorithm, share).unwrap());
        }
    }
}
