//! SHA-512's compression function for several hashes in parallel lanes.
//!
//! A key schedule has independent HMACs, and current processors have no instructions that make a
//! single SHA-512 fast. Vector instructions compute four or eight hashes at once, in little more
//! time than one. See `rounds.rs` for the function itself, `avx2.rs` and `avx512.rs` for the
//! instructions, `self_test.rs` for their verification, and `batch.rs` above for the caller.
//!
//! This is the only primitive that AWS-LC does not implement here; docs/security/hash-lanes.md
//! argues why it can be trusted. A build with a cryptographic module that was validated as a
//! whole, as for FIPS 140, must disable the feature `hash-lanes`, because lanes are computed
//! outside that module.
//!
//! # Why this is sound
//!
//! The instructions of a kernel may run only on processors that have them. A kernel is reached
//! only through [`Instructions`], which only [`available`] makes, after checking the processor.
//! Memory is accessed only through references to arrays.

#[cfg(lanes_avx2)]
mod avx2;
// The module requires a compiler that has the intrinsics of AVX-512. build.rs checks the version.
#[cfg(lanes_avx512)]
#[allow(clippy::incompatible_msrv)]
mod avx512;
#[cfg(lanes_avx2)]
mod rounds;
mod self_test;
#[cfg(test)]
mod tests;
#[cfg(all(test, lanes_avx2))]
mod valgrind;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::memory::{Word, wipe_words};
use super::self_tests::{Tested, note_failure};
use super::sha;
#[cfg(lanes_avx2)]
use super::stack;

/// The vector instructions used for hash lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashLanes {
    /// No vector instructions: hashes are computed one after the other.
    None,
    /// AVX2, four hashes at a time.
    Avx2,
    /// AVX-512, up to eight hashes at a time.
    Avx512,
}

/// The state of one hash in a lane.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Lane {
    /// The chaining value.
    pub(crate) state: [u64; 8],
    /// The next block: sixteen words, most significant byte first.
    pub(crate) block: [[u8; 8]; 16],
}

impl Lane {
    /// A lane of zeros.
    pub(crate) const EMPTY: Self = Self { state: [0; 8], block: [[0; 8]; 16] };

    /// Writes the state to the beginning of the block, encoded as a digest.
    fn write_state(&mut self) {
        for (word, bytes) in self.state.iter().zip(&mut self.block) {
            *bytes = word.to_be_bytes();
        }
    }
}

// SAFETY: a lane has only numbers without padding, for which zeros are valid.
unsafe impl Word for Lane {}

/// The outer hashes of HMACs, each of one block. RFC 2104 2
#[derive(Clone, Copy)]
pub(crate) struct Outer<'a> {
    /// The chaining value after the outer pad, for each lane.
    pub(crate) states: &'a [&'a [u64; 8]],
    /// The number of words of a chaining value that form the digest.
    pub(crate) words: usize,
}

impl<'a> Outer<'a> {
    /// The padding of the outer block: the word after the digest, and the last word.
    /// FIPS 180-4 5.1.2
    fn padding(self) -> [u64; 2] {
        [1 << 63, 1024 + 64 * self.words as u64]
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let (now, later) = self.states.split_at(count);
        (Self { states: now, ..self }, Self { states: later, ..self })
    }
}

/// Vector instructions that this processor has, or [`HashLanes::None`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instructions(HashLanes);

impl Instructions {
    pub(crate) const NONE: Self = Self(HashLanes::None);

    pub(crate) fn name(self) -> HashLanes {
        self.0
    }
}

/// The instructions of this process: detected and tested at the first call, unless lanes are
/// turned off.
#[inline]
pub(crate) fn in_use() -> Instructions {
    static TESTED: OnceLock<Instructions> = OnceLock::new();
    if ALLOWED.load(Ordering::Relaxed) {
        *TESTED.get_or_init(|| self_test::first_that_passes(available(), run, note_failed))
    } else {
        Instructions::NONE
    }
}

/// Notes that lanes with these instructions gave wrong results.
fn note_failed(instructions: Instructions) {
    match instructions.name() {
        HashLanes::None => {}
        HashLanes::Avx2 => note_failure(Tested::LanesAvx2),
        HashLanes::Avx512 => note_failure(Tested::LanesAvx512),
    }
}

/// Turns lanes off for the process, or on again.
pub(crate) fn allow(allowed: bool) {
    ALLOWED.store(allowed, Ordering::Relaxed);
}

static ALLOWED: AtomicBool = AtomicBool::new(true);

/// Whether lanes are faster than single hashes for this number of hashes.
#[inline]
pub(crate) fn is_faster(instructions: Instructions, count: usize) -> bool {
    kernels(instructions).iter().any(|kernel| kernel.min_lanes <= count)
}

/// Compresses the block of each lane into its state. The number of lanes, which is public, selects
/// the kernel.
pub(crate) fn compress(instructions: Instructions, lanes: &mut [Lane]) {
    compress_and_wipe_stack(instructions, lanes, None);
}

/// Compresses the last block of the inner hash of each lane, then computes the outer hash, and
/// writes the MAC over the lane's block.
pub(crate) fn finish_macs(instructions: Instructions, lanes: &mut [Lane], outer: Outer<'_>) {
    compress_and_wipe_stack(instructions, lanes, Some(outer));
}

/// Compresses the lanes, and overwrites the stack that the kernel has used, because the kernel may
/// leave vectors there. Which vectors it leaves depends on how the crate was compiled.
fn compress_and_wipe_stack(
    instructions: Instructions,
    lanes: &mut [Lane],
    outer: Option<Outer<'_>>,
) {
    #[cfg(lanes_avx2)]
    if instructions != Instructions::NONE {
        return stack::wipe_after(&mut || compress_groups(instructions, lanes, outer));
    }
    compress_groups(instructions, lanes, outer);
}

fn compress_groups(
    instructions: Instructions,
    mut lanes: &mut [Lane],
    mut outer: Option<Outer<'_>>,
) {
    while !lanes.is_empty() {
        let kernel = kernels(instructions).iter().find(|kernel| kernel.min_lanes <= lanes.len());
        let count = kernel.map_or(1, |kernel| kernel.max_lanes.min(lanes.len()));
        let (now, later) = lanes.split_at_mut(count);
        let (outer_now, outer_later) = outer.map(|outer| outer.split_at(count)).unzip();
        match kernel {
            Some(kernel) => run(kernel, now, outer_now),
            None => compress_singly(now, outer_now),
        }
        (lanes, outer) = (later, outer_later);
    }
}

/// Compresses the lanes one after the other with AWS-LC's compression function.
fn compress_singly(lanes: &mut [Lane], outer: Option<Outer<'_>>) {
    for (index, lane) in lanes.iter_mut().enumerate() {
        sha::compress_512(&mut lane.state, &lane.block);
        if let Some(outer) = outer {
            let [end, bits] = outer.padding().map(u64::to_be_bytes);
            lane.write_state();
            lane.block[outer.words..].fill([0; 8]);
            lane.block[outer.words] = end;
            lane.block[15] = bits;
            lane.state = *outer.states[index];
            sha::compress_512(&mut lane.state, &lane.block);
            lane.write_state();
        }
    }
}

/// Overwrites the lanes with zeros.
pub(crate) fn wipe(lanes: &mut [Lane]) {
    wipe_words(lanes);
}

/// A kernel: a function that compresses several lanes together.
struct Kernel {
    /// The minimum number of lanes for which the kernel is faster than single hashes or the next
    /// kernel.
    min_lanes: usize,
    /// The maximum number of lanes.
    max_lanes: usize,
    /// The function, for at most this number of lanes, on a processor that has the instructions.
    compress: unsafe fn(&mut [Lane], Option<Outer<'_>>),
}

/// The kernels for these instructions, the widest first.
fn kernels(instructions: Instructions) -> &'static [Kernel] {
    match instructions.0 {
        HashLanes::None => &[],
        #[cfg(lanes_avx2)]
        HashLanes::Avx2 => &AVX2,
        #[cfg(lanes_avx512)]
        HashLanes::Avx512 => &AVX512,
        #[cfg(not(all(lanes_avx2, lanes_avx512)))]
        _ => &[],
    }
}

// The values of `min_lanes` follow from `just bench-kernels`, which times each kernel and one
// block by AWS-LC in the same process. On a Zen 5 the four lanes of AVX2 take as long as 2.1
// blocks, the four lanes of AVX-512 as long as 1.2, and the eight lanes as long as 1.3.

#[cfg(lanes_avx2)]
static AVX2: [Kernel; 1] = [Kernel { min_lanes: 3, max_lanes: 4, compress: avx2::four }];

#[cfg(lanes_avx512)]
static AVX512: [Kernel; 2] = [
    Kernel { min_lanes: 5, max_lanes: 8, compress: avx512::eight },
    Kernel { min_lanes: 2, max_lanes: 4, compress: avx512::four },
];

fn run(kernel: &Kernel, lanes: &mut [Lane], outer: Option<Outer<'_>>) {
    // SAFETY: kernels come from `kernels`, for instructions that this processor has.
    unsafe { (kernel.compress)(lanes, outer) }
}

/// The instructions that this processor and this build have, the best first.
pub(crate) fn available() -> impl Iterator<Item = Instructions> {
    let found = [
        #[cfg(lanes_avx512)]
        avx512::is_available().then_some(Instructions(HashLanes::Avx512)),
        #[cfg(lanes_avx2)]
        std::is_x86_feature_detected!("avx2").then_some(Instructions(HashLanes::Avx2)),
        None,
    ];
    found.into_iter().flatten()
}
