//! Counts of requests to the store and their outcomes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Defines [`Counts`], the atomic counters, and the function that reads the counters into
/// [`Counts`].
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Event counts since the start. Each one only grows.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Count,)*
        }

        impl Counters {
            pub(crate) fn read(&self) -> Counts {
                Counts { $($name: self.$name.get()),* }
            }
        }
    };
}

counts! {
    /// Session lookups that found a session.
    hits,
    /// Session lookups that found no session, or one that could not be decrypted.
    misses,
    /// Sessions written to the store.
    kept,
    /// Sessions removed from the store because a connection ended with a fatal alert.
    removed,
    /// Early data that the replay guard admitted.
    early_data_admitted,
    /// Early data refused because the store had recorded it before.
    early_data_replayed,
    /// Early data refused because the guard could not establish whether it is new.
    early_data_unknown,
    /// Requests refused at once because there was no connection to the store.
    unavailable,
    /// Requests that failed or timed out, after which the store counted as unavailable.
    failures,
    /// Requests that the store answered with an error.
    errors,
    /// Connections established to the store, at the start and after each loss.
    connected,
    /// Ticket key sets taken into use, from the store or a file.
    ticket_keys_changed,
    /// Ticket key sets that were rejected.
    ticket_keys_refused,
    /// Sets of keys for Encrypted ClientHello taken into use from the store.
    ech_keys_changed,
    /// Sets of keys for Encrypted ClientHello that were rejected.
    ech_keys_refused,
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
