//! The pseudorandom function of TLS 1.2 in steps, so that independent outputs share lanes.
//!
//! Each A(i) depends on the previous one, but a block of output depends only on its A(i). A
//! [`PrfRun`] therefore computes two A(i) first, and then two blocks together.
//!
//! See `prf.rs`, which makes a [`PrfRun`], and `batch.rs`, which computes the MACs of a step.

use core::fmt;
use core::mem;

use crate::batch::{Job, Jobs};
use crate::hash::Digest;
use crate::memory::wipe;
use crate::prf::Tls12Prf;

/// An unfinished output of [`Tls12Prf`], made by [`Tls12Prf::begin`]. Its state is wiped on drop.
pub struct PrfRun<'a> {
    prf: &'a Tls12Prf,
    label: &'a [u8],
    seed: &'a [&'a [u8]],
    /// The part of the output that is not yet computed.
    out: &'a mut [u8],
    /// A(i) and A(i+1) for the next two blocks. Only the first `made` elements are computed; the
    /// others still have values of earlier blocks.
    a: [[u8; Digest::MAX_LEN]; 2],
    /// The number of elements of `a` that are computed.
    made: usize,
    /// Whether no step has been made yet.
    is_new: bool,
}

impl<'a> PrfRun<'a> {
    pub(crate) fn new(
        prf: &'a Tls12Prf,
        label: &'a [u8],
        seed: &'a [&'a [u8]],
        out: &'a mut [u8],
    ) -> Self {
        Self { prf, label, seed, out, a: [[0; Digest::MAX_LEN]; 2], made: 0, is_new: true }
    }

    /// Computes the rest of the output.
    pub fn finish(mut self) {
        if !self.begin_alone() {
            while !self.is_done() {
                let mut jobs = Jobs::new();
                self.add_step(&mut jobs);
                jobs.run();
                self.finish_step();
            }
        }
    }

    /// Does [`Self::finish`], and computes a step of `other` together with each step of `self`,
    /// until one of the two has no more steps.
    ///
    /// Without lanes `other` is not advanced.
    pub fn finish_with(mut self, other: &mut PrfRun<'_>) {
        if !self.begin_alone() {
            while !self.is_done() {
                let mut jobs = Jobs::new();
                self.add_step(&mut jobs);
                other.add_step(&mut jobs);
                jobs.run();
                self.finish_step();
                other.finish_step();
            }
        }
    }

    /// If no step was made and lanes are not used, computes the whole output and returns true.
    fn begin_alone(&mut self) -> bool {
        let alone = self.is_new && !self.prf.has_lanes();
        if alone {
            self.prf.fill_singly(self.label, self.seed, self.out);
        }
        alone
    }

    fn is_done(&self) -> bool {
        self.out.is_empty()
    }

    fn hash_len(&self) -> usize {
        self.prf.hmac().algorithm().output_len()
    }

    /// Whether the next step computes an A(i). One A(i) is computed for each of the next two blocks
    /// before the blocks are computed.
    fn needs_a(&self) -> bool {
        self.made < self.out.len().div_ceil(self.hash_len()).min(self.a.len())
    }

    /// Adds the MACs of the next step, if there is one.
    fn add_step<'s>(&'s mut self, jobs: &mut Jobs<'s>) {
        let (hash_len, needs_a) = (self.hash_len(), self.needs_a());
        let key = self.prf.hmac();
        if needs_a {
            let [first, second] = &mut self.a;
            let (before, after) = if self.made == 0 { (second, first) } else { (first, second) };
            let (before, after) = (&before[..hash_len], &mut after[..hash_len]);
            // A(1) is the MAC of label and seed, A(i) the MAC of A(i-1).
            let job = if self.is_new {
                Job::new(key, [self.label, &[]], self.seed, &[], after)
            } else {
                Job::new(key, [before, &[]], &[], &[], after)
            };
            jobs.push(job);
        } else {
            let blocks = self.out.chunks_mut(hash_len).zip(&self.a[..self.made]);
            for (block, a) in blocks {
                jobs.push(Job::new(key, [&a[..hash_len], self.label], self.seed, &[], block));
            }
        }
    }

    /// Records that the step added by `add_step` is done.
    fn finish_step(&mut self) {
        if self.needs_a() {
            self.made += 1;
            self.is_new = false;
        } else {
            let filled = (self.made * self.hash_len()).min(self.out.len());
            self.out = &mut mem::take(&mut self.out)[filled..];
            self.made = 0;
        }
    }
}

impl Drop for PrfRun<'_> {
    fn drop(&mut self) {
        wipe(self.a.as_flattened_mut());
    }
}

impl fmt::Debug for PrfRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrfRun({:?}, ..)", self.prf.hmac().algorithm())
    }
}
