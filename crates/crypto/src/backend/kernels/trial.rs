//! Timing of kernels against AWS-LC.
//!
//! Kernels were developed on one processor family. On another one the same instructions may be
//! slower, and a list of families would be outdated with each new processor, so each process
//! measures. See `mod.rs` for the other conditions.

use std::time::{Duration, Instant};

/// The same work, done by the kernel and by AWS-LC.
pub(super) struct Trial {
    kernel: Box<dyn FnMut()>,
    aws_lc: Box<dyn FnMut()>,
}

impl Trial {
    /// Each function does the same work once, with keys and buffers of its own. The function must
    /// pass its result through `black_box`, or the compiler may remove the work.
    #[allow(dead_code, reason = "a build may have no kernels")]
    pub(super) fn new(kernel: impl FnMut() + 'static, aws_lc: impl FnMut() + 'static) -> Self {
        Self { kernel: Box::new(kernel), aws_lc: Box::new(aws_lc) }
    }

    /// The time of the kernel, in thousandths of AWS-LC's. `now` reads the clock. `None` if the
    /// clock does not resolve a batch.
    fn share_of_time(&mut self, now: &mut impl FnMut() -> Instant) -> Option<u128> {
        let mut time = |work: &mut dyn FnMut(), calls: u32| {
            let start = now();
            (0..calls).for_each(|_| work());
            now().duration_since(start)
        };
        // The first calls load code and data into the caches and make the processor enable its
        // widest vectors, which takes some ten microseconds. They are not counted.
        let mut warm_up = |work: &mut dyn FnMut()| {
            let (mut total, mut least) = (Duration::ZERO, Duration::MAX);
            for _ in 0..MAX_CALLS {
                let duration = time(work, 1);
                least = duration.min(least);
                total += duration;
                if total >= WARM_UP {
                    break;
                }
            }
            least
        };
        warm_up(&mut self.kernel);
        let one = warm_up(&mut self.aws_lc);
        let calls = BATCH.as_nanos() / one.as_nanos().max(1);
        let calls = u32::try_from(calls).unwrap_or(u32::MAX).clamp(1, MAX_CALLS);

        let mut least = [Duration::MAX; 2];
        let mut share = None;
        for _ in 0..MAX_SERIES {
            let mut total = Duration::ZERO;
            for round in 0..MAX_ROUNDS {
                if round >= MIN_ROUNDS && total >= BUDGET {
                    break;
                }
                let works = [&mut self.kernel, &mut self.aws_lc];
                for (work, least) in works.into_iter().zip(&mut least) {
                    let duration = time(work, calls);
                    *least = duration.min(*least);
                    total += duration;
                }
            }
            let [kernel, aws_lc] = least.map(|duration| duration.as_nanos());
            share = (kernel * 1000).checked_div(aws_lc);
            if share.is_some_and(|share| share < ENOUGH) {
                break;
            }
        }
        share
    }
}

/// Whether the kernel is faster than AWS-LC on average over the trials, and slower in none.
///
/// Batches of both alternate, so that a change of the clock frequency and work on the sibling
/// thread of the core slow down both. Batches are short compared with the time slices of the
/// scheduler, so that most of them are not interrupted. Noise only adds time; therefore the
/// minimum of the batches is compared. A kernel that does not appear faster is measured again, up
/// to [`MAX_SERIES`] times, because load can last longer than a series of batches. The minima of
/// both are kept, so that further series do not favour the kernel.
///
/// Work on the sibling thread reduces the gain where the processor's units are fully used: of long
/// records on processors with one unit for AES, for instance. The average over all sizes decides,
/// so that a process that starts under load makes the same choice as any other.
pub(super) fn kernel_is_faster(mut trials: Vec<Trial>, mut now: impl FnMut() -> Instant) -> bool {
    let (mut total, mut count) = (0, 0);
    for trial in &mut trials {
        let Some(share) = trial.share_of_time(&mut now) else { return false };
        total += share;
        count += 1;
        // The first trials are those with the greatest gain, so that later ones cannot make up.
        if share > MOST || total >= ENOUGH * count {
            return false;
        }
    }
    // Without a trial nothing shows that the kernel is faster.
    count > 0
}

/// The thousandths of AWS-LC's time that a kernel may take on average.
///
/// Minima of the same work repeat within 2 %, so that noise does not select a kernel that is as
/// fast as AWS-LC. At equal speed AWS-LC is preferable, because more people use and verify it. A
/// kernel that is worth its code gains 10 % and more.
const ENOUGH: u128 = 950;

/// The thousandths of AWS-LC's time that a kernel may take in each trial. More than noise and load
/// add shows that the kernel is slower in this trial.
const MOST: u128 = 1100;

/// The intended time of a batch: a hundred times the cost of reading the clock.
const BATCH: Duration = Duration::from_micros(3);

/// The time of a series of batches, unless a call is long.
const BUDGET: Duration = Duration::from_micros(60);

/// The time of the calls that are not counted.
const WARM_UP: Duration = Duration::from_micros(20);

const MAX_CALLS: u32 = 256;
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 16;
const MAX_SERIES: u32 = 5;
