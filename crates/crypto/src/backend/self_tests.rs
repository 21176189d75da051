//! The self-tests of kernels and hash lanes that failed in this process.
//!
//! A primitive that fails its self-test is replaced by AWS-LC, so that nothing else shows that the
//! processor, the emulator or the compiler is faulty.

use core::sync::atomic::{AtomicBool, Ordering};

/// A primitive of this crate that is tested before it is used.
#[derive(Clone, Copy)]
pub(crate) enum Tested {
    AesGcm,
    ChaCha20Poly1305,
    Rsa2048,
    LanesAvx2,
    LanesAvx512,
}

/// The primitives with their names, in the order of [`Tested`].
const NAMES: [&str; 5] =
    ["aes-gcm", "chacha20-poly1305", "rsa-2048", "hash-lanes-avx2", "hash-lanes-avx512"];

static FAILED: [AtomicBool; NAMES.len()] = [const { AtomicBool::new(false) }; NAMES.len()];

/// Notes that the self-test of a primitive has failed.
pub(crate) fn note_failure(tested: Tested) {
    FAILED[tested as usize].store(true, Ordering::Relaxed);
}

/// The names of all primitives that have a self-test, and whether the self-test has failed in this
/// process: kernels, and hash lanes by their instructions.
///
/// A primitive that failed is not used; AWS-LC computes the same results. On a sound machine none
/// fails. The call runs no self-test, and one that has not run has not failed. A primitive that
/// this processor does not support has not failed either.
#[must_use]
pub fn self_tests() -> [(&'static str, bool); NAMES.len()] {
    core::array::from_fn(|at| (NAMES[at], FAILED[at].load(Ordering::Relaxed)))
}
