//! SHA-512's compression function for several hashes side by side.
//!
//! What it is for: a key schedule has HMACs that do not wait for each other, and no instructions make a single SHA-512 fast on
//! today's processors. Vector instructions make four or eight at once, in little more time than one. What it must not know:
//! HMAC, keys, padding. Where to look next: `rounds.rs` for the function itself, `avx2.rs` and `avx512.rs` for the instructions,
//! `self_test.rs` for why their answers are believed; `side_by_side.rs` above, which asks.
//!
//! This is the one primitive of our own; SECURITY.md ("Hash lanes") argues why it can be trusted. A build against a
//! cryptographic module that was validated as a whole, as for FIPS 140, must leave the feature `hash-lanes` out: what is computed
//! here is computed outside that module.
//!
//! # Why this is sound
//!
//! The instructions of a kernel may run only on processors that have them. A kernel is reached through [`Instructions`] only,
//! and those are made by [`available`] only, which asks the processor. Memory is reached through references to arrays only.

#[cfg(lanes_avx2)]
mod avx2;
// Only compilers that have these intrinsics get here: build.rs asks.
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
use super::sha;
#[cfg(lanes_avx2)]
use super::stack;

/// The vector instructions by which hashes go side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashLanes {
    /// None: hashes go one after the other.
    None,
    /// AVX2, four hashes at a time.
    Avx2,
    /// AVX-512, up to eight hashes at a time.
    Avx512,
}

/// A hash in the making.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Lane {
    /// The chaining value.
    pub(crate) state: [u64; 8],
    /// The block it takes in next: sixteen words, most significant byte first.
    pub(crate) block: [[u8; 8]; 16],
}

impl Lane {
    /// Everything zero.
    pub(crate) const EMPTY: Self = Self { state: [0; 8], block: [[0; 8]; 16] };

    /// Writes the state to the beginning of the block, as digests are written.
    fn write_state(&mut self) {
        for (word, bytes) in self.state.iter().zip(&mut self.block) {
            *bytes = word.to_be_bytes();
        }
    }
}

// SAFETY: numbers, without padding between them.
unsafe impl Word for Lane {}

/// The outer hashes of HMACs, which take in no more than the inner ones. RFC 2104 2
#[derive(Clone, Copy)]
pub(crate) struct Outer<'a> {
    /// For each lane the chaining value after the outer pad.
    pub(crate) states: &'a [&'a [u64; 8]],
    /// How many words of a chaining value are the digest.
    pub(crate) words: usize,
}

impl<'a> Outer<'a> {
    /// The word behind the digest, and the last one of the block. FIPS 180-4 5.1.2
    fn padding(self) -> [u64; 2] {
        [1 << 63, 1024 + 64 * self.words as u64]
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let (now, later) = self.states.split_at(count);
        (Self { states: now, ..self }, Self { states: later, ..self })
    }
}

/// Vector instructions that this processor has, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instructions(HashLanes);

impl Instructions {
    pub(crate) const NONE: Self = Self(HashLanes::None);

    pub(crate) fn name(self) -> HashLanes {
        self.0
    }
}

/// What this process uses: found and tested at the first call, unless lanes are turned off.
#[inline]
pub(crate) fn in_use() -> Instructions {
    static TESTED: OnceLock<Instructions> = OnceLock::new();
    if ALLOWED.load(Ordering::Relaxed) {
        *TESTED.get_or_init(|| self_test::first_that_passes(available(), run))
    } else {
        Instructions::NONE
    }
}

/// Turns lanes off for the process, or on again.
pub(crate) fn allow(allowed: bool) {
    ALLOWED.store(allowed, Ordering::Relaxed);
}

static ALLOWED: AtomicBool = AtomicBool::new(true);

/// Whether so many hashes are faster side by side.
#[inline]
pub(crate) fn pays(instructions: Instructions, count: usize) -> bool {
    kernels(instructions).iter().any(|kernel| kernel.least <= count)
}

/// Takes each lane's block into its state. The number of lanes, which is public, decides how.
pub(crate) fn compress(instructions: Instructions, lanes: &mut [Lane]) {
    in_groups(instructions, lanes, None);
}

/// Takes each lane's block, the last one of its inner hash, and makes the outer hash: the MAC is written over the block.
pub(crate) fn finish_macs(instructions: Instructions, lanes: &mut [Lane], outer: Outer<'_>) {
    in_groups(instructions, lanes, Some(outer));
}

/// What kernels leave on the stack is overwritten: how the crate was compiled decides which vectors that would be.
fn in_groups(instructions: Instructions, lanes: &mut [Lane], outer: Option<Outer<'_>>) {
    #[cfg(lanes_avx2)]
    if instructions != Instructions::NONE {
        return stack::wipe_after(&mut || each_group(instructions, lanes, outer));
    }
    each_group(instructions, lanes, outer);
}

fn each_group(instructions: Instructions, mut lanes: &mut [Lane], mut outer: Option<Outer<'_>>) {
    while !lanes.is_empty() {
        let kernel = kernels(instructions).iter().find(|kernel| kernel.least <= lanes.len());
        let count = kernel.map_or(1, |kernel| kernel.most.min(lanes.len()));
        let (now, later) = lanes.split_at_mut(count);
        let (outer_now, outer_later) = outer.map(|outer| outer.split_at(count)).unzip();
        match kernel {
            Some(kernel) => run(kernel, now, outer_now),
            None => one_by_one(now, outer_now),
        }
        (lanes, outer) = (later, outer_later);
    }
}

/// The same by AWS-LC's compression function.
fn one_by_one(lanes: &mut [Lane], outer: Option<Outer<'_>>) {
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

/// One way to compress lanes together.
struct Kernel {
    /// From so many lanes on it is faster than one after the other, or than the next kernel.
    least: usize,
    /// So many lanes at once.
    most: usize,
    /// The function, for at most as many lanes, on a processor that has the instructions.
    compress: unsafe fn(&mut [Lane], Option<Outer<'_>>),
}

/// What can be done with these instructions, the widest first.
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

// How these numbers were got: `benches/wrappers.rs` times each kernel against one block by AWS-LC in the same process. On a Zen 5
// the four lanes of AVX2 take as long as 2.1 blocks, the four of AVX-512 as long as 1.2 and its eight as long as 1.3.

#[cfg(lanes_avx2)]
static AVX2: [Kernel; 1] = [Kernel { least: 3, most: 4, compress: avx2::four }];

#[cfg(lanes_avx512)]
static AVX512: [Kernel; 2] = [
    Kernel { least: 5, most: 8, compress: avx512::eight },
    Kernel { least: 2, most: 4, compress: avx512::four },
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

/// Each kernel of this processor by the name of its instructions and the number of its lanes, as a function that takes a
/// block into each lane: for `benches/wrappers.rs` alone.
#[cfg(feature = "bench-bare")]
pub(crate) fn each_kernel() -> impl Iterator<Item = (HashLanes, usize, impl FnMut())> {
    let each = |found| kernels(found).iter().map(move |kernel| (found.0, kernel));
    available().flat_map(each).map(|(name, kernel)| {
        let mut lanes = vec![Lane::EMPTY; kernel.most];
        (name, kernel.most, move || run(kernel, core::hint::black_box(&mut lanes), None))
    })
}
