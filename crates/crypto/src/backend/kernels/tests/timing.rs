//! A statistical test of whether a time depends on secrets, after dudect (Reparaz, Balasch and
//! Verbauwhede, 2017). `just kernel-timing` runs its users.
//!
//! Inputs of two classes are timed in random order: a fixed one, and random ones. Welch's t for the
//! times of both classes is near zero if they have the same distribution; beyond 4.5 they differ.
//!
//! # What makes it robust
//!
//! - Inputs of both classes are made by the same code and at the same place, by a generator that
//!   differs only in its seed, so that both are equally cached.
//! - No branch of the preparation depends on the class, because the history of branches influences
//!   the predictions in the call that is timed.
//! - Several subjects are timed in turn, among them one whose classes are equal, and AWS-LC. What
//!   disturbs the measurement disturbs all of them.
//! - A value beyond the limit must remain there with four times as many calls.
//! - Interruptions make some times long. The value is computed for all times and without the
//!   slowest 1, 5, 10, 25 and 50 %, and the largest counts.

use core::arch::x86_64::{_mm_lfence, _rdtsc};
use core::hint::black_box;
use core::sync::atomic::{Ordering, fence};

use crate::backend::memory::fill_random;

/// What is timed.
pub(in crate::backend::kernels) trait Subject {
    /// Makes the input of the next call. `flag` is the class for [`Classes::Flag`], else zero. No
    /// branch and no address may depend on it.
    fn prepare(&mut self, flag: u8, source: &mut Source);

    /// The call.
    fn call(&mut self);
}

/// How the two classes differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::backend::kernels) enum Classes {
    /// One class has always the same bytes, the other one random ones.
    Bytes,
    /// Both have random bytes, and differ by the flag.
    Flag,
    /// Not at all, to test the measurement.
    Same,
}

/// A subject with its name.
pub(in crate::backend::kernels) struct Series<'a> {
    name: String,
    classes: Classes,
    subject: Box<dyn Subject + 'a>,
    times: Vec<(u64, bool)>,
}

impl<'a> Series<'a> {
    pub(in crate::backend::kernels) fn new(
        name: &str,
        classes: Classes,
        subject: impl Subject + 'a,
    ) -> Self {
        Self { name: name.to_owned(), classes, subject: Box::new(subject), times: Vec::new() }
    }
}

/// Times this many calls of each series, and returns the largest absolute t of each.
///
/// If t is beyond the limit for a series that must not leak, four times as many calls decide: with
/// them t is doubled where there is a difference, and halved where there is none.
pub(in crate::backend::kernels) fn measure(
    calls: usize,
    series: &mut [Series<'_>],
    must_not_leak: usize,
) -> Vec<f64> {
    add_times(calls, series);
    let t: Vec<_> = series.iter_mut().map(Series::largest_t).collect();
    if t[..must_not_leak].iter().all(|t| *t < LIMIT) {
        return t;
    }
    println!("beyond the limit; again, with {} calls", 4 * calls);
    add_times(3 * calls, series);
    series.iter_mut().map(Series::largest_t).collect()
}

/// Adds the times of this many calls to each series.
fn add_times(calls: usize, series: &mut [Series<'_>]) {
    let mut choices = vec![0; calls];
    fill_random(&mut choices).unwrap();
    let first = series[0].times.len() as u64 + 1;
    for each in &mut *series {
        each.times.reserve_exact(calls);
        // The first calls load code and data.
        each.subject.prepare(0, &mut Source(FIXED));
        each.subject.call();
    }
    for (number, choice) in choices.iter().enumerate() {
        let fresh = (first + number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for (at, each) in series.iter_mut().enumerate() {
            let class = choice >> (at % 8) & 1;
            // Masks instead of branches: the predictor of branches would remember the class.
            let (random, flag) = match each.classes {
                Classes::Bytes => (black_box(u64::from(class).wrapping_neg()), 0),
                Classes::Flag => (u64::MAX, class),
                Classes::Same => (0, 0),
            };
            let seed = (fresh & random) | (FIXED & !random);
            each.subject.prepare(flag, &mut Source(seed));
            // The call must not wait for stores of the preparation.
            fence(Ordering::SeqCst);
            let start = ticks();
            each.subject.call();
            let time = ticks() - start;
            each.times.push((time, class == 1));
        }
    }
}

impl Series<'_> {
    fn largest_t(&mut self) -> f64 {
        self.times.sort_unstable();
        let all = [100, 99, 95, 90, 75, 50].map(|percent| {
            // Times that are equal to the longest one are kept in both classes.
            let longest = self.times[(self.times.len() - 1) * percent / 100].0;
            let kept = self.times.partition_point(|time| time.0 <= longest);
            t_value(&self.times[..kept])
        });
        let text: Vec<_> = all.iter().map(|t| format!("{t:6.2}")).collect();
        let median = self.times[self.times.len() / 2].0;
        println!("{:44} {median:7} ticks, t {}", self.name, text.join(" "));
        all.into_iter().map(f64::abs).fold(0.0, f64::max)
    }
}

/// Welch's t.
fn t_value(times: &[(u64, bool)]) -> f64 {
    let moments = |class| {
        let times = times.iter().filter(|time| time.1 == class).map(|time| time.0 as f64);
        let count = times.clone().count() as f64;
        let mean = times.clone().sum::<f64>() / count;
        let squares: f64 = times.map(|time| (time - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count)
    };
    let (a, b) = (moments(false), moments(true));
    (a.0 - b.0) / (a.1 + b.1).sqrt().max(f64::MIN_POSITIVE)
}

/// The limit of the absolute value of t, by dudect's authors.
pub(in crate::backend::kernels) const LIMIT: f64 = 4.5;

/// The counter of the processor, after all earlier instructions and before all later ones.
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instructions.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// A generator of bytes that look random. Its time does not depend on the seed.
pub(in crate::backend::kernels) struct Source(u64);

impl Source {
    pub(in crate::backend::kernels) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.word().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    pub(in crate::backend::kernels) fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// The seed of fixed inputs.
const FIXED: u64 = 0x0123_4567_89ab_cdef;

/// The number of calls of each series: `TERCEL_TIMING_CALLS`, or the given one.
pub(in crate::backend::kernels) fn calls(default: usize) -> usize {
    let wanted = std::env::var("TERCEL_TIMING_CALLS").ok();
    wanted.map_or(default, |wanted| wanted.parse().expect("a number of calls"))
}
