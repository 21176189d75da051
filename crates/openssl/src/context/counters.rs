//! The counters of a context's handshakes and sessions (`SSL_CTX_sess_number` and others).

use core::sync::atomic::{AtomicI64, Ordering};

/// Numbers of handshakes.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) connect: Counter,
    pub(crate) connect_good: Counter,
    pub(crate) accept: Counter,
    pub(crate) accept_good: Counter,
    pub(crate) hits: Counter,
    /// Sessions that the program's function found.
    pub(crate) callback_hits: Counter,
    /// Sessions that were not in the cache.
    pub(crate) misses: Counter,
    /// Sessions that were in the cache, and had expired.
    pub(crate) timeouts: Counter,
    /// Sessions that were removed because the cache was full.
    pub(crate) cache_full: Counter,
}

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicI64);

impl Counter {
    pub(crate) fn count(&self) {
        // The number is only shown, so no order with other memory is needed.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
