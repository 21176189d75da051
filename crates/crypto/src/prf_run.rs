//! The pseudorandom function of TLS 1.2 step by step.
//!
//! What it is for: outputs that do not wait for each other take their steps side by side. What it must not know: the labels.
//! Where to look next: `prf.rs`, which begins a run; `side_by_side.rs`, which makes the MACs of a step.
//!
//! Each A(i) waits for the one before it, but the blocks of output wait for their A(i) only. So a run makes two A(i) first, and
//! then two blocks at once.

use core::fmt;
use core::mem;

use crate::side_by_side::{Job, Jobs};
use crate::{Digest, Tls12Prf, wipe};

/// An output of [`Tls12Prf`] in the making, by [`Tls12Prf::begin`]. What it holds is wiped on drop.
pub struct PrfRun<'a> {
    prf: &'a Tls12Prf,
    label: &'a [u8],
    seed: &'a [&'a [u8]],
    /// What is left to be filled.
    out: &'a mut [u8],
    /// A(i) and A(i+1) for the next two blocks, and before they are made those of the last two.
    a: [[u8; Digest::MAX_LEN]; 2],
    /// How many of them are made.
    made: usize,
    /// Nothing was done yet.
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

    /// Fills what is left of the output.
    pub fn finish(mut self) {
        if !self.begin_alone() {
            while !self.is_done() {
                let mut jobs = Jobs::new();
                self.add_step(&mut jobs);
                jobs.run();
                self.step_done();
            }
        }
    }

    /// [`Self::finish`] with the steps of another run beside it, as many of them as this takes and the other has.
    ///
    /// Where hashes do not go side by side the other run stays as it is.
    pub fn finish_beside(mut self, other: &mut PrfRun<'_>) {
        if !self.begin_alone() {
            while !self.is_done() {
                let mut jobs = Jobs::new();
                self.add_step(&mut jobs);
                other.add_step(&mut jobs);
                jobs.run();
                self.step_done();
                other.step_done();
            }
        }
    }

    /// Fills all of the output at once, where that is as good.
    fn begin_alone(&mut self) -> bool {
        let alone = self.is_new && !self.prf.has_lanes();
        if alone {
            self.prf.fill_alone(self.label, self.seed, self.out);
        }
        alone
    }

    fn is_done(&self) -> bool {
        self.out.is_empty()
    }

    fn hash_len(&self) -> usize {
        self.prf.hmac().algorithm().output_len()
    }

    /// Whether the next step makes another A(i): one for each of the next two blocks, if there are two.
    fn wants_a(&self) -> bool {
        self.made < self.out.len().div_ceil(self.hash_len()).min(self.a.len())
    }

    /// The MACs of the next step, if there is one.
    fn add_step<'s>(&'s mut self, jobs: &mut Jobs<'s>) {
        let (hash_len, wants_a) = (self.hash_len(), self.wants_a());
        let key = self.prf.hmac();
        if wants_a {
            let [first, second] = &mut self.a;
            let (before, after) = if self.made == 0 { (second, first) } else { (first, second) };
            let (before, after) = (&before[..hash_len], &mut after[..hash_len]);
            // A(1) is over label and seed, A(i) over A(i-1).
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

    /// Notes that the step is done.
    fn step_done(&mut self) {
        if self.wants_a() {
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
