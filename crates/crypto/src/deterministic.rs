//! Randomness from a seed. **For tests and fuzzing only.**
//!
//! What it is for: making two runs give equal bytes. Compiled in by the feature `deterministic`
//! only, which no build that talks to a network may enable: whoever knows the seed knows every
//! key. What it must not know: what the bytes become. Where to look next: `random.rs` and
//! `key_exchange.rs`, which ask here first.
//!
//! The seed belongs to the calling thread. While one is set, [`crate::fill_random`],
//! [`crate::KeyExchange::generate`] and [`crate::KeyExchange::respond`] draw from it. ECDSA and
//! RSA-PSS signatures stay random. Without a seed the thread draws real randomness.

use core::cell::Cell;

use crate::{Hash, HashAlgorithm};

/// Runs `action` with the thread's randomness drawn from `seed`, then restores what was before.
pub fn with_seed<T>(seed: u64, action: impl FnOnce() -> T) -> T {
    /// Restores on unwinding too, so that a failed test does not seed the next one.
    struct Restore(Option<Generator>);
    impl Drop for Restore {
        fn drop(&mut self) {
            GENERATOR.set(self.0);
        }
    }

    let _restore = Restore(GENERATOR.get());
    self::seed(seed);
    action()
}

/// Draws the thread's randomness from `seed` from now on.
pub fn seed(seed: u64) {
    GENERATOR.set(Some(Generator { seed, drawn: 0 }));
}

/// Draws the thread's randomness from the system again.
pub fn unseed() {
    GENERATOR.set(None);
}

/// Fills `out` from the thread's seed, if it has one.
pub(crate) fn fill(out: &mut [u8]) -> bool {
    let Some(mut generator) = GENERATOR.get() else { return false };
    for chunk in out.chunks_mut(32) {
        let block = generator.next_block();
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    GENERATOR.set(Some(generator));
    true
}

/// The next bytes of the thread's seed, if it has one.
pub(crate) fn draw<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes).then_some(bytes)
}

#[derive(Clone, Copy)]
struct Generator {
    seed: u64,
    drawn: u64,
}

impl Generator {
    /// SHA-256 of seed and counter.
    fn next_block(&mut self) -> crate::Digest {
        let parts: [&[u8]; 2] = [&self.seed.to_be_bytes(), &self.drawn.to_be_bytes()];
        self.drawn += 1;
        Hash::digest(HashAlgorithm::Sha256, &parts)
    }
}

thread_local! {
    static GENERATOR: Cell<Option<Generator>> = const { Cell::new(None) };
}
