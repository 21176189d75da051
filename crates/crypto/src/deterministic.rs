//! Randomness from a seed or from given bytes. **For tests and fuzzing only.**
//!
//! With such randomness, two runs of a test give equal bytes, and published traces can be replayed.
//! The seed determines every key, so no release has this module: it requires the feature
//! `deterministic`, which tests enable, and debug assertions, which no release profile has. See
//! `random.rs` and `key_exchange/randomness.rs`, which use it.
//!
//! The source belongs to the calling thread. While a thread has one, [`crate::fill_random`],
//! [`crate::KeyExchange::generate`] and [`crate::KeyExchange::respond`] draw from it. ECDSA and
//! RSA-PSS signatures stay random. Without a source the thread draws real randomness.
//!
//! A key exchange draws once, in this order: first 32 bytes for an X25519 private key, or 96 for
//! one on a NIST curve; then, for ML-KEM, 64 bytes (`d`, `z`) for key generation or 32 (`m`) for
//! encapsulation, as FIPS 203 names them.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::algorithm::HashAlgorithm;
use crate::backend::self_tests::{Tested, note_failure};
use crate::hash::Hash;

/// Test seam. Runs `action` with the thread's randomness drawn from `seed`, then restores the
/// previous source.
pub fn with_seed<T>(seed: u64, action: impl FnOnce() -> T) -> T {
    with_source(Source::Seed { seed, drawn: 0 }, action)
}

/// Test seam. Runs `action` with exactly these bytes as the thread's randomness, then restores the
/// previous source.
///
/// # Panics
///
/// When `action` draws more bytes than given.
pub fn with_bytes<T>(bytes: &[u8], action: impl FnOnce() -> T) -> T {
    with_source(Source::Script(bytes.iter().copied().collect()), action)
}

/// Test seam. Draws the thread's randomness from `seed` from now on.
pub fn seed(seed: u64) {
    SOURCE.replace(Some(Source::Seed { seed, drawn: 0 }));
}

/// Test seam. Draws the thread's randomness from the system again.
pub fn unseed() {
    SOURCE.replace(None);
}

/// Test seam. Makes the self-test of the RSA kernel count as failed in this process. The kernel is
/// not turned off.
pub fn fail_self_test() {
    note_failure(Tested::Rsa2048);
}

/// Fills `out` from the thread's source, if it has one.
pub(crate) fn fill(out: &mut [u8]) -> bool {
    SOURCE.with_borrow_mut(|source| source.as_mut().map(|source| source.fill(out)).is_some())
}

/// Whether the thread has a source.
pub(crate) fn is_active() -> bool {
    SOURCE.with_borrow(Option::is_some)
}

fn with_source<T>(source: Source, action: impl FnOnce() -> T) -> T {
    /// Restores the previous source on drop, so also when a failed test unwinds.
    struct Restore(Option<Source>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SOURCE.replace(self.0.take());
        }
    }

    let _restore = Restore(SOURCE.replace(Some(source)));
    action()
}

enum Source {
    /// Random bytes are SHA-256 of the seed and a counter.
    Seed {
        seed: u64,
        drawn: u64,
    },
    Script(VecDeque<u8>),
}

impl Source {
    fn fill(&mut self, out: &mut [u8]) {
        match self {
            Self::Seed { seed, drawn } => {
                for chunk in out.chunks_mut(32) {
                    let parts: [&[u8]; 2] = [&seed.to_be_bytes(), &drawn.to_be_bytes()];
                    let block = Hash::digest(HashAlgorithm::Sha256, &parts);
                    chunk.copy_from_slice(&block[..chunk.len()]);
                    *drawn += 1;
                }
            }
            Self::Script(bytes) => {
                assert!(out.len() <= bytes.len(), "the script has no {} bytes more", out.len());
                let script = bytes.drain(..out.len());
                out.iter_mut().zip(script).for_each(|(to, from)| *to = from);
            }
        }
    }
}

thread_local! {
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}
