//! Random bytes.
//!
//! What it is for: keys, nonces and public values drawn from AWS-LC's generator, which notices
//! forks and virtual-machine snapshots by itself. What it must not know: buffers; a buffered
//! random byte would survive a fork. Where to look next: `deterministic.rs` for the test seam.

use crate::{CryptoError, backend};

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
