//! Random bytes for keys, nonces and public values, from AWS-LC's generator.
//!
//! The generator detects forks. Nothing is buffered here, because
//! buffered bytes would be duplicated by a fork. See `deterministic.rs` for tests.

use crate::backend;
use crate::error::CryptoError;

/// Fills the whole slice with random bytes.
///
/// # Errors
///
/// [`CryptoError::Internal`] when the generator fails; the slice's contents are then unspecified.
pub fn fill_random(out: &mut [u8]) -> Result<(), CryptoError> {
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    if crate::deterministic::fill(out) {
        return Ok(());
    }
    backend::memory::fill_random(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        fill_random(&mut a).unwrap();
        fill_random(&mut b).unwrap();
        assert_ne!(a, b);
        assert_ne!(a, [0; 32]);
        fill_random(&mut []).unwrap();
    }
}
