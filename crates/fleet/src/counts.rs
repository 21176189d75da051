//! What a node asked of the store, in numbers.
//!
//! Must not know: who reads them. Next: [`crate::Fleet::counts`].

use std::sync::atomic::{AtomicU64, Ordering};

/// How often what happened since the start; numbers only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Sessions that were asked for and found.
    pub hits: u64,
    /// Sessions that were asked for and not there, or not openable.
    pub misses: u64,
    /// Sessions that were stored.
    pub kept: u64,
    /// Sessions that were taken out of the store because a connection of theirs ended with a fatal alert.
    pub forgotten: u64,
    /// Early data that was admitted.
    pub early_data_admitted: u64,
    /// Early data that was refused because the store had seen it before.
    pub early_data_replayed: u64,
    /// Early data that was refused because nobody could know.
    pub early_data_unknown: u64,
    /// Questions that found the store away, and were answered at once.
    pub away: u64,
    /// Questions on which the store failed or was too slow, and counted as away from then on.
    pub failures: u64,
    /// Questions that the store refused.
    pub errors: u64,
    /// How often the store was reached, at the start and after it was away.
    pub connected: u64,
    /// New sets of ticket keys that were taken over, from the store or a file.
    pub ticket_keys_changed: u64,
    /// Sets of ticket keys that were refused.
    pub ticket_keys_refused: u64,
}

/// One number of [`Counts`], as it grows.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        // Nothing else is ordered by it.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) hits: Count,
    pub(crate) misses: Count,
    pub(crate) kept: Count,
    pub(crate) forgotten: Count,
    pub(crate) early_data_admitted: Count,
    pub(crate) early_data_replayed: Count,
    pub(crate) early_data_unknown: Count,
    pub(crate) away: Count,
    pub(crate) failures: Count,
    pub(crate) errors: Count,
    pub(crate) connected: Count,
    pub(crate) ticket_keys_changed: Count,
    pub(crate) ticket_keys_refused: Count,
}

impl Counters {
    pub(crate) fn read(&self) -> Counts {
        Counts {
            hits: self.hits.get(),
            misses: self.misses.get(),
            kept: self.kept.get(),
            forgotten: self.forgotten.get(),
            early_data_admitted: self.early_data_admitted.get(),
            early_data_replayed: self.early_data_replayed.get(),
            early_data_unknown: self.early_data_unknown.get(),
            away: self.away.get(),
            failures: self.failures.get(),
            errors: self.errors.get(),
            connected: self.connected.get(),
            ticket_keys_changed: self.ticket_keys_changed.get(),
            ticket_keys_refused: self.ticket_keys_refused.get(),
        }
    }
}
