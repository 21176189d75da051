//! The randomness of a key exchange's private values, drawn at once.
//!
//! What it is for: a call of the generator costs the same for 32 bytes and for 96, so what is made at the same moment shares one.
//! The bytes live as long as the function that makes the keys, and are wiped with it. What it must not
//! know: what is made of them. Where to look next: `keys.rs`, `backend/kem.rs`; `deterministic.rs`,
//! for tests replace what is drawn.

use super::parts::{Classic, Parts};
use crate::{CryptoError, SecretBytes, fill_random};

/// Bytes for the private values of both halves, in that order.
pub(super) struct Drawn {
    bytes: SecretBytes<{ MOST_CLASSIC + KEY_PAIR }>,
    classic_len: usize,
}

impl Drawn {
    /// For whoever speaks first: a private key, and ML-KEM's `d` and `z`. FIPS 203 7.1
    pub(super) fn for_key_pair(parts: Parts) -> Self {
        Self::empty(parts, KEY_PAIR)
    }

    /// For the response: a private key, and ML-KEM's `m`. FIPS 203 7.2
    pub(super) fn for_response(parts: Parts) -> Self {
        Self::empty(parts, RESPONSE)
    }

    fn empty(parts: Parts, kem_len: usize) -> Self {
        let classic_len = parts.classic.map_or(0, classic_len);
        let len = classic_len + parts.kem.map_or(0, |_| kem_len);
        Self { bytes: SecretBytes::with(len, |_| ()), classic_len }
    }

    /// Draws them, once they lie where they will be wiped: what is moved afterwards leaves a copy.
    pub(super) fn draw(&mut self) -> Result<(), CryptoError> {
        fill_random(self.bytes.as_mut_bytes())
    }

    /// Those of the Diffie-Hellman half: none if it draws for itself.
    pub(super) fn classic(&self) -> &[u8] {
        &self.bytes.as_bytes()[..self.classic_len]
    }

    /// Those of ML-KEM: 64 for a key pair, 32 for a response.
    pub(super) fn kem(&self) -> &[u8] {
        &self.bytes.as_bytes()[self.classic_len..]
    }
}

/// A scalar of a NIST curve has to be drawn until it is in range, which AWS-LC does. A test's source gives bytes to
/// derive one from instead.
fn classic_len(classic: Classic) -> usize {
    match classic {
        Classic::X25519 => 32,
        #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
        Classic::Nist(_) if crate::deterministic::is_in_force() => MOST_CLASSIC,
        Classic::Nist(_) => 0,
    }
}

const MOST_CLASSIC: usize =
    if cfg!(any(test, all(feature = "deterministic", debug_assertions))) { 96 } else { 32 };
const KEY_PAIR: usize = 64;
const RESPONSE: usize = 32;

#[cfg(test)]
mod tests {
    use super::super::KeyExchangeAlgorithm as A;
    use super::*;

    #[test]
    fn each_half_gets_bytes_of_its_own() {
        let lengths = |drawn: &Drawn| (drawn.classic().len(), drawn.kem().len());
        for (algorithm, classic, kem) in [
            (A::X25519, 32, false),
            (A::P256, 0, false),
            (A::X25519MlKem768, 32, true),
            (A::SecP256r1MlKem768, 0, true),
            (A::MlKem1024, 0, true),
        ] {
            let parts = algorithm.parts();
            let (pair, response) = (Drawn::for_key_pair(parts), Drawn::for_response(parts));
            assert_eq!(lengths(&pair), (classic, if kem { 64 } else { 0 }));
            assert_eq!(lengths(&response), (classic, if kem { 32 } else { 0 }));
        }
    }

    #[test]
    fn no_bytes_are_drawn_twice() {
        let parts = A::X25519MlKem768.parts();
        let mut drawn = [Drawn::for_key_pair(parts), Drawn::for_key_pair(parts)];
        drawn.iter_mut().for_each(|drawn| drawn.draw().unwrap());
        let mut all: Vec<_> = drawn
            .iter()
            .flat_map(|drawn| drawn.classic().chunks_exact(16).chain(drawn.kem().chunks_exact(16)))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 12);
    }

    /// Of ML-KEM's half: copies of X25519's are AWS-LC's and those of a key pair on its way to where it is used.
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
        // That it would have been seen.
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
