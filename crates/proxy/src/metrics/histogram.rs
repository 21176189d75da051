//! How long something took, counted in buckets.
//!
//! Must not know: of what. Next: [`super::shard`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that one thread raises and others read.
///
/// Aligned by its owner: all numbers of a shard lie in cache lines that no other thread writes.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(super) fn one(&self) {
        self.add(1);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One count for each place.
#[derive(Debug)]
pub(super) struct Table<const N: usize>([Count; N]);

impl<const N: usize> Default for Table<N> {
    fn default() -> Self {
        Self([const { Count::new() }; N])
    }
}

impl<const N: usize> Table<N> {
    /// Counts one more in this place. A place that does not exist counts nothing.
    pub(super) fn one(&self, place: usize) {
        if let Some(count) = self.0.get(place) {
            count.one();
        }
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(Count::get)
    }
}

/// Upper bounds of the buckets, in microseconds, as the metrics say them in seconds; one more bucket has no bound.
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

pub(super) const BUCKETS: usize = BOUNDS.len() + 1;

/// Durations.
#[derive(Debug, Default)]
pub(super) struct Durations {
    buckets: Table<BUCKETS>,
    /// In nanoseconds: 584 years until it turns over.
    sum: Count,
}

impl Durations {
    pub(super) fn observe(&self, duration: Duration) {
        let within = |bound: &(u64, f64)| duration <= Duration::from_micros(bound.0);
        self.buckets.one(BOUNDS.iter().position(within).unwrap_or(BOUNDS.len()));
        self.sum.add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn add_to(&self, total: &mut Observed) {
        for (total, count) in total.buckets.iter_mut().zip(self.buckets.counts()) {
            *total = total.saturating_add(count);
        }
        total.nanoseconds = total.nanoseconds.saturating_add(self.sum.get());
    }
}

/// The durations of all shards.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) buckets: [u64; BUCKETS],
    pub(super) nanoseconds: u64,
}
