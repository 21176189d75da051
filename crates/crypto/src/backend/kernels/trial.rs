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

    /// The minimum time of a batch of calls, for the kernel and for AWS-LC. `now` reads the clock.
    fn measure(&mut self, now: &mut impl FnMut() -> Instant) -> [Duration; 2] {
        let mut time = |work: &mut dyn FnMut(), calls: u32| {
            let start = now();
            (0..calls).for_each(|_| work());
            now().duration_since(start)
        };
        // The first calls load code and data into the caches and make the processor enable its
        // widest vectors. They are not counted.
        time(&mut self.kernel, WARM_UP_CALLS);
        let first = time(&mut self.aws_lc, WARM_UP_CALLS) / WARM_UP_CALLS;
        let calls = BATCH.as_nanos() / first.as_nanos().max(1);
        let calls = u32::try_from(calls).unwrap_or(u32::MAX).clamp(1, MAX_CALLS);

        let mut least = [Duration::MAX; 2];
        let mut total = Duration::ZERO;
        for round in 0..MAX_ROUNDS {
            if round >= MIN_ROUNDS && total >= BUDGET {
                break;
            }
            for (work, least) in [&mut self.kernel, &mut self.aws_lc].into_iter().zip(&mut least) {
                let duration = time(work, calls);
                *least = duration.min(*least);
                total += duration;
            }
        }
        least
    }
}

/// Whether the kernel is faster than AWS-LC in all trials.
///
/// Batches of both alternate, so that a change of the clock frequency and work on the sibling
/// thread of the core slow down both. Batches are short compared with the time slices of the
/// scheduler, so that most of them are not interrupted. Noise only adds time; therefore the
/// minimum of the batches is compared.
pub(super) fn kernel_is_faster(mut trials: Vec<Trial>, mut now: impl FnMut() -> Instant) -> bool {
    let mut is_faster = |trial: &mut Trial| {
        let [kernel, aws_lc] = trial.measure(&mut now);
        kernel * 100 < aws_lc * (100 - MARGIN)
    };
    // Without a trial nothing shows that the kernel is faster.
    !trials.is_empty() && trials.iter_mut().all(&mut is_faster)
}

/// The percentage of AWS-LC's time that a kernel must save.
///
/// Minima of the same work repeat within 2 %, so that noise does not select a kernel that is as
/// fast as AWS-LC. At equal speed AWS-LC is preferable, because more people use and verify it. A
/// kernel that is worth its code gains 10 % and more in each trial, so that noise does not reject
/// it either.
const MARGIN: u32 = 5;

/// The intended time of a batch: a hundred times the cost of reading the clock.
const BATCH: Duration = Duration::from_micros(3);

/// The time of a trial, unless a call is long.
const BUDGET: Duration = Duration::from_micros(60);

const WARM_UP_CALLS: u32 = 2;
const MAX_CALLS: u32 = 256;
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 16;
