//! What was admitted once is not admitted again: the memory behind early data. RFC 9846 8
//!
//! For: one process; a fleet needs a store all of it asks. Must not know: what makes a value unique, and
//! how long it could come again. Next: `config/policy.rs`, where a server is asked for its decision.

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, HashSet};

use pki_types::UnixTime;
use tercel_crypto::{Hash, HashAlgorithm};

use super::shards::Shards;
use crate::config::policy::AdmitEarlyData;
use crate::record::limits;

/// Remembers unique values, such as binders, until they can no longer be replayed.
///
/// It errs on one side only: when full, after a restart, or when the clock is set back, it refuses what it might
/// have seen. Refused early data costs a round trip.
pub struct ReplayGuard {
    parts: Shards<Part>,
    capacity: usize,
    window: u32,
}

impl ReplayGuard {
    /// Room for `capacity` values; they take some 100 bytes each, of whatever length.
    ///
    /// Everything is refused up to and including `blind_until`: what was admitted before this start is
    /// not known here; see [`Self::for_early_data`] for how long that is.
    #[must_use]
    pub fn new(capacity: usize, blind_until: UnixTime) -> Self {
        let parts = Shards::new(capacity, |room| Part::new(room, blind_until));
        Self { parts, capacity, window: limits::FRESHNESS_WINDOW }
    }

    /// Whether `unique` comes for the first time, which it then has. Up to and including `expires` it will be
    /// remembered; the caller must refuse it by its age afterwards.
    #[must_use = "`false` means a replay"]
    pub fn insert_once(&self, unique: &[u8], expires: UnixTime, now: UnixTime) -> bool {
        // Of one length, so that no peer can choose how much is kept.
        let mut value = [0; 32];
        let digest = Hash::digest(HashAlgorithm::Sha256, &[unique]);
        value.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
        let part = self.parts.lock(self.parts.hash(&value));
        part.is_some_and(|mut part| part.insert_once(value, expires, now))
    }
}

impl ReplayGuard {
    /// How long one hello can count as fresh by a server's clock, under a
    /// [freshness window](crate::ServerConfigBuilder::freshness_window) of so many seconds: a guard of any kind has to
    /// remember it for so long, and to refuse for so long what it may have forgotten. It may come as much too early as
    /// too late, and clocks are read in whole seconds. RFC 9846 8.3
    #[must_use]
    pub const fn fresh_for(window: u32) -> Duration {
        Duration::from_secs((window as u64).saturating_mul(2).saturating_add(1))
    }

    /// A guard for early data, to be set up when a server starts: it refuses everything until nothing that
    /// was admitted before `now` can still count as fresh, whatever the configuration's freshness window.
    #[must_use]
    pub fn for_early_data(capacity: usize, now: UnixTime) -> Self {
        Self::for_freshness_window(capacity, now, limits::FRESHNESS_WINDOW)
    }

    /// The same for configurations with a
    /// [freshness window](crate::ServerConfigBuilder::freshness_window) of so many seconds or fewer: it is blind for less
    /// long, and remembers less.
    #[must_use]
    pub fn for_freshness_window(capacity: usize, now: UnixTime, window: u32) -> Self {
        Self { window, ..Self::new(capacity, after_window(now, window)) }
    }
}

impl AdmitEarlyData for ReplayGuard {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        self.insert_once(unique, after_window(now, self.window), now)
    }

    fn freshness_window(&self) -> u32 {
        self.window
    }
}

fn after_window(now: UnixTime, window: u32) -> UnixTime {
    let seconds = now.as_secs().saturating_add(ReplayGuard::fresh_for(window).as_secs());
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

impl fmt::Debug for ReplayGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayGuard").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

struct Part {
    seen: HashSet<[u8; 32]>,
    /// What is seen, by the second it expires.
    by_expiry: BTreeMap<UnixTime, Vec<[u8; 32]>>,
    /// Values that expired up to this moment are no longer known.
    forgotten: UnixTime,
    capacity: usize,
}

impl Part {
    fn new(capacity: usize, forgotten: UnixTime) -> Self {
        Self { seen: HashSet::new(), by_expiry: BTreeMap::new(), forgotten, capacity }
    }

    fn insert_once(&mut self, value: [u8; 32], expires: UnixTime, now: UnixTime) -> bool {
        self.forget(now);
        // A clock that was set back could make fresh again what is forgotten.
        if now <= self.forgotten || now > expires || self.seen.len() >= self.capacity {
            return false;
        }
        if !self.seen.insert(value) {
            return false;
        }
        self.by_expiry.entry(expires).or_default().push(value);
        true
    }

    fn forget(&mut self, now: UnixTime) {
        while let Some(first) = self.by_expiry.first_entry() {
            if *first.key() >= now {
                return;
            }
            self.forgotten = self.forgotten.max(*first.key());
            for value in first.remove() {
                self.seen.remove(&value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn guard(capacity: usize) -> ReplayGuard {
        ReplayGuard::new(capacity, at(0))
    }

    fn count(guard: &ReplayGuard) -> usize {
        guard.parts.all().map(|part| part.seen.len()).sum()
    }

    #[test]
    fn a_value_is_admitted_once_until_it_expires() {
        let guard = guard(100);
        assert!(guard.insert_once(b"binder", at(110), at(100)));
        for now in 100..=110 {
            assert!(!guard.insert_once(b"binder", at(110), at(now)), "at {now}");
            // Nor with an expiry that a later look would compute.
            assert!(!guard.insert_once(b"binder", at(now + 10), at(now)), "at {now}");
        }
        assert!(guard.insert_once(b"another", at(110), at(100)));
        assert!(guard.insert_once(b"", at(110), at(100)));
    }

    #[test]
    fn what_has_expired_is_refused() {
        let guard = guard(100);
        assert!(!guard.insert_once(b"old", at(99), at(100)));
        assert!(guard.insert_once(b"just", at(100), at(100)));
    }

    #[test]
    fn when_full_it_refuses_and_forgets_nothing_early() {
        let guard = guard(10);
        for value in 0..10_u8 {
            assert!(guard.insert_once(&[value], at(110 + u64::from(value)), at(100)));
        }
        assert!(!guard.insert_once(b"one more", at(120), at(110)));
        for value in 0..10_u8 {
            assert!(!guard.insert_once(&[value], at(120), at(110)));
        }
        // At 111 the one of 110 is forgotten, and there is room for one.
        assert!(guard.insert_once(b"one more", at(121), at(111)));
        assert!(!guard.insert_once(b"yet another", at(121), at(111)));
    }

    #[test]
    fn the_number_of_values_is_bounded_over_all_parts() {
        let guard = guard(1000);
        let admitted = (0..5000_u32).filter(|v| guard.insert_once(&v.to_be_bytes(), at(10), at(1)));
        let admitted = admitted.count();
        assert!((900..=1000).contains(&admitted));
        assert_eq!(count(&guard), admitted);
    }

    #[test]
    fn expired_values_leave_no_trace() {
        let guard = guard(100);
        for round in 1..=100_u64 {
            for value in 0..10_u8 {
                assert!(guard.insert_once(&[value], at(round), at(round)));
            }
            assert_eq!(count(&guard), 10);
        }
        assert!(guard.parts.all().all(|part| part.by_expiry.len() == 1));
    }

    #[test]
    fn a_clock_set_back_admits_nothing_that_was_forgotten() {
        let guard = guard(100);
        assert!(guard.insert_once(b"binder", at(110), at(100)));
        assert!(guard.insert_once(b"another", at(121), at(111)));
        assert!(!guard.insert_once(b"binder", at(115), at(105)));
        assert!(!guard.insert_once(b"binder", at(120), at(110)));
        // From here on the first one is too old for its caller.
        assert!(guard.insert_once(b"third", at(121), at(111)));
    }

    #[test]
    fn after_a_start_it_is_blind_for_a_while() {
        let guard = ReplayGuard::new(100, at(110));
        assert!(!guard.insert_once(b"binder", at(120), at(100)));
        assert!(!guard.insert_once(b"binder", at(120), at(110)));
        assert!(guard.insert_once(b"binder", at(121), at(111)));
    }

    #[test]
    fn of_many_threads_one_is_first() {
        let guard = guard(100_000);
        let admitted = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let first = |v: &u32| guard.insert_once(&v.to_be_bytes(), at(10), at(1));
                    admitted.fetch_add((0..500).filter(first).count(), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(admitted.into_inner(), 500);
    }
}
