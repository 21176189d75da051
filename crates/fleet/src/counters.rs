//! Counts of requests to the store and their outcomes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Event counts since the start. Each one only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Session lookups that found a session.
    pub hits: u64,
    /// Session lookups that found no session, or one that could not be decrypted.
    pub misses: u64,
    /// Sessions written to the store.
    pub kept: u64,
    /// Sessions removed from the store because a connection ended with a fatal alert.
    pub removed: u64,
    /// Early data that the replay guard admitted.
    pub early_data_admitted: u64,
    /// Early data refused because the store had recorded it before.
    pub early_data_replayed: u64,
    /// Early data refused because the guard could not establish whether it is new.
    pub early_data_unknown: u64,
    /// Requests refused at once because there was no connection to the store.
    pub unavailable: u64,
    /// Requests that failed or timed out, after which the store counted as unavailable.
    pub failures: u64,
    /// Requests that the store answered with an error.
    pub errors: u64,
    /// Connections established to the store, at the start and after each loss.
    pub connected: u64,
    /// Ticket key sets taken into use, from the store or a file.
    pub ticket_keys_changed: u64,
    /// Ticket key sets that were rejected.
    pub ticket_keys_refused: u64,
}

/// One counter of [`Counts`].
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        // No other memory access depends on the counter.
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
    pub(crate) removed: Count,
    pub(crate) early_data_admitted: Count,
    pub(crate) early_data_replayed: Count,
    pub(crate) early_data_unknown: Count,
    pub(crate) unavailable: Count,
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
            removed: self.removed.get(),
            early_data_admitted: self.early_data_admitted.get(),
            early_data_replayed: self.early_data_replayed.get(),
            early_data_unknown: self.early_data_unknown.get(),
            unavailable: self.unavailable.get(),
            failures: self.failures.get(),
            errors: self.errors.get(),
            connected: self.connected.get(),
            ticket_keys_changed: self.ticket_keys_changed.get(),
            ticket_keys_refused: self.ticket_keys_refused.get(),
        }
    }
}
