//! Counters and histograms of one worker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A counter with one writer and any number of readers.
///
/// The enclosing shard is aligned, so that no other thread writes to its cache lines.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(super) fn increment(&self) {
        self.add(1);
    }

    /// Adds the count of another counter.
    pub(super) fn merge(&self, other: &Self) {
        self.add(other.get());
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A table of counters.
#[derive(Debug)]
pub(super) struct CounterTable<const N: usize>([Counter; N]);

impl<const N: usize> Default for CounterTable<N> {
    fn default() -> Self {
        Self([const { Counter::new() }; N])
    }
}

impl<const N: usize> CounterTable<N> {
    /// Increments the counter of this slot. A slot out of range is ignored.
    pub(super) fn increment(&self, slot: usize) {
        if let Some(count) = self.0.get(slot) {
            count.increment();
        }
    }

    /// Adds the counts of another table, slot by slot.
    pub(super) fn merge(&self, other: &Self) {
        self.0.iter().zip(&other.0).for_each(|(total, count)| total.merge(count));
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(Counter::get)
    }
}

/// The upper bounds of the buckets, in microseconds and in seconds; the last bucket has no bound.
pub(super) const BOUNDS: [(u64, f64); 15] = [
    (250, 0.000_25),
    (500, 0.000_5),
    (1_000, 0.001),
    (2_500, 0.002_5),
    (5_000, 0.005),
    (10_000, 0.01),
    (25_000, 0.025),
    (50_000, 0.05),
    (100_000, 0.1),
    (250_000, 0.25),
    (500_000, 0.5),
    (1_000_000, 1.0),
    (2_500_000, 2.5),
    (5_000_000, 5.0),
    (10_000_000, 10.0),
];

const BUCKETS: usize = BOUNDS.len() + 1;

/// A histogram of durations.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    buckets: CounterTable<BUCKETS>,
    /// The sum of the durations in nanoseconds; overflows after 584 years.
    sum: Counter,
}

impl Histogram {
    pub(super) fn observe(&self, duration: Duration) {
        let within = |bound: &(u64, f64)| duration <= Duration::from_micros(bound.0);
        self.buckets.increment(BOUNDS.iter().position(within).unwrap_or(BOUNDS.len()));
        self.sum.add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the observations of another histogram.
    pub(super) fn merge(&self, other: &Self) {
        self.buckets.merge(&other.buckets);
        self.sum.merge(&other.sum);
    }

    /// The numbers of observations by bucket.
    pub(super) fn buckets(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.counts()
    }

    /// The sum of the durations.
    pub(super) fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum.get())
    }
}
