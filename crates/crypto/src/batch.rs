//! Independent MACs, computed in parallel lanes.
//!
//! A key schedule needs several MACs at once. This module computes them together if the processor
//! supports that. See `hmac.rs` for a single MAC, and `backend/lanes` for parallel hashing and its
//! verification.
//!
//! The choice of code path depends only on the number of MACs and their lengths, which are public.

use core::cmp::Reverse;

use crate::backend::lanes::{self, HashLanes, Instructions, Lane, Outer};
use crate::hmac::HmacKey;

/// A MAC to be computed by [`mac_batch`].
pub struct Mac<'a> {
    /// The key.
    pub key: &'a HmacKey,
    /// The message: the concatenated parts.
    pub parts: &'a [&'a [u8]],
    /// The output; it must be as long as the digest of the key's hash function.
    pub out: &'a mut [u8],
}

/// Computes these MACs, which may differ in hash function, key and message length. Each equals
/// the result of [`HmacKey::sign`].
///
/// # Panics
///
/// When an `out` does not have the length of the digest.
pub fn mac_batch(all: &mut [Mac<'_>]) {
    if !is_faster(all.len()) {
        return all.iter_mut().for_each(Mac::alone);
    }
    let mut jobs = Jobs::new();
    all.iter_mut().for_each(|mac| jobs.push(mac.job()));
    jobs.run();
}

impl Mac<'_> {
    /// Converts this MAC to an entry of a batch.
    ///
    /// # Panics
    ///
    /// When `out` does not have the length of the digest.
    pub(crate) fn job(&mut self) -> Job<'_> {
        self.check();
        Job::new(self.key, [&[], &[]], self.parts, &[], self.out)
    }

    fn alone(&mut self) {
        self.check();
        self.key.mac(&[self.parts], self.out);
    }

    fn check(&self) {
        let len = self.out.len();
        assert!(len == self.key.algorithm().output_len(), "a MAC of {len} bytes");
    }
}

/// The vector instructions with which this process computes SHA-384 and SHA-512 in parallel lanes.
///
/// The first call tests them against AWS-LC, which takes less than a tenth of a millisecond;
/// instructions that fail are not used. Without the feature `hash-lanes`, and on processors other
/// than x86-64, there are none.
#[must_use]
pub fn hash_lanes() -> HashLanes {
    lanes::in_use().name()
}

/// Turns hash lanes off for the whole process, or on again. Without lanes, hashes are computed one
/// after the other by AWS-LC.
pub fn use_hash_lanes(wanted: bool) {
    lanes::allow(wanted);
}

/// The maximum number of MACs that are computed together.
pub(crate) const MAX_BATCH: usize = 8;

/// Whether lanes are faster than single MACs for this number of MACs.
#[inline]
pub(crate) fn is_faster(count: usize) -> bool {
    lanes::is_faster(lanes::in_use(), count)
}

/// A MAC as an entry of [`Jobs`].
pub(crate) struct Job<'a> {
    key: &'a HmacKey,
    first: [&'a [u8]; 2],
    parts: &'a [&'a [u8]],
    last: &'a [u8],
    /// The output; the MAC is truncated to its length.
    out: &'a mut [u8],
    /// The length of the message.
    len: usize,
}

impl<'a> Job<'a> {
    /// The MAC of `first`, `parts` and `last`, truncated to the length of `out`.
    pub(crate) fn new(
        key: &'a HmacKey,
        first: [&'a [u8]; 2],
        parts: &'a [&'a [u8]],
        last: &'a [u8],
        out: &'a mut [u8],
    ) -> Self {
        assert!(out.len() <= key.algorithm().output_len(), "{} bytes of a MAC", out.len());
        let len_of = |parts: &[&[u8]]| parts.iter().map(|part| part.len()).sum::<usize>();
        let len = len_of(&first) + len_of(parts) + last.len();
        Self { key, first, parts, last, out, len }
    }

    fn alone(&mut self) {
        self.key.shortened(&[&self.first, self.parts, &[self.last]], self.out);
    }

    /// The number of blocks of the inner hash after the padded key.
    pub(crate) fn blocks(&self) -> usize {
        (self.len + PADDING).div_ceil(BLOCK_LEN)
    }

    /// Writes block `index` of the padded message. For index 0, `block` must be all zeros.
    /// FIPS 180-4 5.1.2
    pub(crate) fn write_block(&self, index: usize, block: &mut [u8; BLOCK_LEN]) {
        // `before` is the remaining number of message bytes in earlier blocks, `end` the number of
        // bytes written to this block.
        let (mut before, mut end) = (index * BLOCK_LEN, 0);
        for parts in [&self.first, self.parts, &[self.last]] {
            for part in parts {
                if before >= part.len() {
                    before -= part.len();
                    continue;
                }
                let len = (part.len() - before).min(BLOCK_LEN - end);
                copy(&part[before..before + len], &mut block[end..end + len]);
                (before, end) = (0, end + len);
            }
        }
        if index > 0 {
            block[end..].fill(0);
        }
        if self.len / BLOCK_LEN == index {
            block[end] = END;
        }
        if index + 1 == self.blocks() {
            write_length(block, self.len);
        }
    }
}

/// Writes the length of the message, `len` bytes after the padded key, to the end of the last
/// block. The length is in bits and includes the padded key.
pub(crate) fn write_length(block: &mut [u8; BLOCK_LEN], len: usize) {
    let bits = 8 * (BLOCK_LEN + len) as u128;
    block[BLOCK_LEN - 16..].copy_from_slice(&bits.to_be_bytes());
}

/// A batch of MACs to be computed.
pub(crate) struct Jobs<'a> {
    places: [Option<Job<'a>>; MAX_BATCH],
    count: usize,
}

impl<'a> Jobs<'a> {
    pub(crate) fn new() -> Self {
        Self { places: [const { None }; MAX_BATCH], count: 0 }
    }

    /// Adds a MAC. If the batch is full, its MACs are computed first.
    pub(crate) fn push(&mut self, job: Job<'a>) {
        if self.count == MAX_BATCH {
            self.run();
        }
        self.places[self.count] = Some(job);
        self.count += 1;
    }

    /// Computes all MACs: in lanes if that is faster and all of them use SHA-384, or all SHA-512.
    pub(crate) fn run(&mut self) {
        self.run_with(lanes::in_use());
    }

    pub(crate) fn run_with(&mut self, instructions: Instructions) {
        let jobs = &mut self.places[..self.count];
        let hash = |job: &Job<'_>| job.key.algorithm();
        let first = jobs.iter().flatten().next().map(hash);
        let fits = |job: &Job<'_>| job.key.sha512_states().is_some() && Some(hash(job)) == first;
        if !lanes::is_faster(instructions, jobs.len()) || !jobs.iter().flatten().all(fits) {
            jobs.iter_mut().flatten().for_each(Job::alone);
        } else if jobs.len() <= MAX_BATCH / 2 {
            compute_in_lanes::<{ MAX_BATCH / 2 }>(instructions, jobs);
        } else {
            compute_in_lanes::<MAX_BATCH>(instructions, jobs);
        }
        self.count = 0;
    }
}

fn compute_in_lanes<const N: usize>(instructions: Instructions, jobs: &mut [Option<Job<'_>>]) {
    let blocks = |job: &Option<Job<'_>>| job.as_ref().map_or(0, Job::blocks);
    let most = jobs.iter().map(blocks).max().unwrap_or(0);
    // Jobs are sorted from long to short. Shorter ones start later, so that all end together.
    if jobs.iter().any(|job| blocks(job) != most) {
        jobs.sort_unstable_by_key(|job| Reverse(blocks(job)));
    }
    let (mut room, mut outer) = ([Lane::EMPTY; N], [&[0; 8]; N]);
    let (lanes, mut words) = (&mut room[..jobs.len()], 0);
    for left in (1..=most).rev() {
        let begun = jobs.iter().flatten().take_while(|job| job.blocks() >= left);
        let mut count = 0;
        for (lane, job) in lanes.iter_mut().zip(begun) {
            let index = job.blocks() - left;
            if let (0, Some([inner, _])) = (index, job.key.sha512_states()) {
                lane.state = *inner;
            }
            if let Some(block) = lane.block.as_flattened_mut().first_chunk_mut() {
                job.write_block(index, block);
            }
            count += 1;
        }
        if left > 1 {
            lanes::compress(instructions, &mut lanes[..count]);
        }
    }
    for (state, job) in outer.iter_mut().zip(jobs.iter().flatten()) {
        if let Some([_, outer]) = job.key.sha512_states() {
            *state = outer;
            words = job.key.algorithm().output_len() / 8;
        }
    }
    lanes::finish_macs(instructions, lanes, Outer { states: &outer[..lanes.len()], words });
    for (lane, job) in lanes.iter().zip(jobs.iter_mut().flatten()) {
        copy(&lane.block.as_flattened()[..job.out.len()], job.out);
    }
    lanes::wipe(lanes);
}

/// Copies a slice without a call of `memcpy`; slices are seldom longer than 48 bytes.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    const PIECE: usize = 16;
    match (from.last_chunk::<PIECE>(), to.last_chunk_mut::<PIECE>()) {
        (Some(last), Some(place)) => {
            *place = *last;
            for (from, to) in from.chunks_exact(PIECE).zip(to.chunks_exact_mut(PIECE)) {
                to.copy_from_slice(from);
            }
        }
        _ => match (from, to) {
            ([byte], [place]) => *place = *byte,
            (from, to) => to.copy_from_slice(from),
        },
    }
}

/// The length of the minimum padding: the byte 0x80, and the length in bits as sixteen bytes.
const PADDING: usize = 1 + 16;
pub(crate) const END: u8 = 0x80;
pub(crate) const BLOCK_LEN: usize = 128;
