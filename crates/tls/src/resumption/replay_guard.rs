//! Replay protection of early data in one process. RFC 9846 8
//!
//! Several servers that share ticket keys need a shared replay guard, see `tercel-fleet`.

use core::time::Duration;
use std::collections::{BTreeMap, HashSet};
use std::process;

use pki_types::UnixTime;
use tercel_crypto::{Hash, HashAlgorithm, fill_random};

use super::shards::Shards;
use crate::record::limits;

/// The ID of a replay guard.
pub type ReplayGuardId = [u8; 16];

/// A replay guard for early data. RFC 9846 8
///
/// A ticket that allows early data contains the ID of the guard under which it was issued. Early
/// data with it is accepted only under a guard with the same ID, because another guard does not
/// know what this one has admitted.
pub trait AdmitEarlyData: Send + Sync {
    /// Returns whether early data with this unique value may be accepted. The result is `true` only
    /// once during the time in which a replay would count as fresh, and `false` if the guard cannot
    /// decide.
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool;

    /// Returns the longest [freshness window](crate::server::ServerConfigBuilder::freshness_window)
    /// for which the guard remembers values. A configuration with a longer window is refused.
    /// Default: the longest window that a configuration allows.
    fn freshness_window(&self) -> Duration {
        limits::MAX_FRESHNESS_WINDOW
    }

    /// Returns the ID of this guard. Guards may have the same ID only if each refuses what another
    /// one has admitted. `None`: the guard belongs to one configuration, so early data is accepted
    /// only with tickets that the same configuration issued in the same process. Default: `None`.
    fn id(&self) -> Option<ReplayGuardId> {
        None
    }
}

/// Returns the ID of a guard in the memory of this process. A fork has a copy of the memory, so the
/// guards of both processes know nothing of each other.
pub(crate) fn id_in_process(mut id: ReplayGuardId) -> ReplayGuardId {
    id.iter_mut().zip(process::id().to_be_bytes()).for_each(|(byte, of_process)| {
        *byte ^= of_process;
    });
    id
}

/// A replay guard in memory. It remembers unique values, such as binders, until they can no longer
/// be replayed.
///
/// If the guard is full, after a restart, or if the clock is set back, it refuses values that it
/// may have seen. The rejection of early data costs a round trip. After a start with
/// [`Self::for_early_data`] it refuses everything for two minutes
/// ([`Self::freshness_period`] of 60 seconds), with
/// [`EarlyDataRejection::NotAdmitted`](crate::EarlyDataRejection::NotAdmitted).
///
/// Each guard has a random ID, and another one in each process that is forked, unless both have the
/// same process ID. Early data is accepted only with tickets of configurations that use the same
/// guard in the same process.
///
/// ```
/// use std::sync::Arc;
/// use tercel::{Credential, Policy, ServerConfig, error::ConfigError};
/// use tercel::{pki_types::UnixTime, session::ReplayGuard};
///
/// fn config(credential: Credential) -> Result<Arc<ServerConfig>, ConfigError> {
///     let guard = ReplayGuard::for_early_data(100_000, UnixTime::now());
///     let guard = Policy::Here(Arc::new(guard) as _);
///     ServerConfig::builder().credential(credential).early_data(16_384, guard).build()
/// }
/// ```
pub struct ReplayGuard {
    shards: Shards<Shard>,
    capacity: usize,
    window: Duration,
    /// `None` if the random generator failed.
    id: Option<ReplayGuardId>,
}

impl ReplayGuard {
    /// Creates a guard for `capacity` values. Each value takes about 100 bytes of memory, whatever
    /// its length.
    ///
    /// The guard refuses all values up to and including `refuse_until`, because it does not know
    /// which values were admitted before it was created. [`Self::for_early_data`] computes that
    /// time.
    #[must_use]
    pub fn new(capacity: usize, refuse_until: UnixTime) -> Self {
        let shards = Shards::new(capacity, |room| Shard::new(room, refuse_until));
        let mut id = [0; 16];
        let id = fill_random(&mut id).is_ok().then_some(id);
        Self { shards, capacity, window: limits::MAX_FRESHNESS_WINDOW, id }
    }

    /// Inserts `unique`, and returns whether it was absent. The value is remembered up to and
    /// including `expires`. Afterwards the caller must refuse it because of its age.
    #[must_use = "`false` means a replay"]
    pub fn insert_once(&self, unique: &[u8], expires: UnixTime, now: UnixTime) -> bool {
        // The value is hashed to a fixed length, so that a peer cannot choose how much memory it
        // takes.
        let mut value = [0; 32];
        let digest = Hash::digest(HashAlgorithm::Sha256, &[unique]);
        value.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
        let shard = self.shards.lock(self.shards.hash(&value));
        shard.is_some_and(|mut shard| shard.insert_once(value, expires, now))
    }
}

impl ReplayGuard {
    /// Returns the time during which one ClientHello can count as fresh, for a [freshness
    /// window](crate::server::ServerConfigBuilder::freshness_window) of this length.
    ///
    /// Every guard has to remember a value for this time. A guard that has lost its values, for
    /// instance in a restart, has to refuse all values for this time. The time is twice the window,
    /// since a ticket's age may be too small or too large by the window, plus one second, since
    /// clocks are read in whole seconds. RFC 9846 8.3
    #[must_use]
    pub const fn freshness_period(window: Duration) -> Duration {
        window.saturating_mul(2).saturating_add(Duration::from_secs(1))
    }

    /// Creates a guard for a server that has just started. The guard refuses early data until every
    /// ClientHello that was sent before `now` is too old to be accepted, even with the largest
    /// freshness window that a configuration allows.
    #[must_use]
    pub fn for_early_data(capacity: usize, now: UnixTime) -> Self {
        Self::for_freshness_window(capacity, now, limits::MAX_FRESHNESS_WINDOW)
    }

    /// Creates a guard like [`Self::for_early_data`], for configurations with a [freshness
    /// window](crate::server::ServerConfigBuilder::freshness_window) of at most `window`. This
    /// guard refuses early data for a shorter time after its creation, and remembers fewer values.
    #[must_use]
    pub fn for_freshness_window(capacity: usize, now: UnixTime, window: Duration) -> Self {
        Self { window, ..Self::new(capacity, after_window(now, window)) }
    }
}

impl AdmitEarlyData for ReplayGuard {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        self.insert_once(unique, after_window(now, self.window), now)
    }

    fn freshness_window(&self) -> Duration {
        self.window
    }

    fn id(&self) -> Option<ReplayGuardId> {
        self.id.map(id_in_process)
    }
}

fn after_window(now: UnixTime, window: Duration) -> UnixTime {
    let seconds = now.as_secs().saturating_add(ReplayGuard::freshness_period(window).as_secs());
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

debug_fields!(ReplayGuard: capacity);

struct Shard {
    seen: HashSet<[u8; 32]>,
    /// The values of `seen`, by the time at which they expire.
    by_expiry: BTreeMap<UnixTime, Vec<[u8; 32]>>,
    /// The time up to which expired values have been removed.
    removed_until: UnixTime,
    capacity: usize,
}

impl Shard {
    fn new(capacity: usize, removed_until: UnixTime) -> Self {
        Self { seen: HashSet::new(), by_expiry: BTreeMap::new(), removed_until, capacity }
    }

    fn insert_once(&mut self, value: [u8; 32], expires: UnixTime, now: UnixTime) -> bool {
        self.remove_expired(now);
        // If the clock was set back, a removed value could count as fresh again.
        if now <= self.removed_until || now > expires || self.seen.len() >= self.capacity {
            return false;
        }
        if !self.seen.insert(value) {
            return false;
        }
        self.by_expiry.entry(expires).or_default().push(value);
        true
    }

    fn remove_expired(&mut self, now: UnixTime) {
        while let Some(first) = self.by_expiry.first_entry() {
            if *first.key() >= now {
                return;
            }
            self.removed_until = self.removed_until.max(*first.key());
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
        guard.shards.all().map(|shard| shard.seen.len()).sum()
    }

    #[test]
    fn a_value_is_admitted_once_until_it_expires() {
        let guard = guard(100);
        assert!(guard.insert_once(b"binder", at(110), at(100)));
        for now in 100..=110 {
            assert!(!guard.insert_once(b"binder", at(110), at(now)), "at {now}");
            // A replay is also refused with the expiry that a later call would compute.
            assert!(!guard.insert_once(b"binder", at(now + 10), at(now)), "at {now}");
        }
        assert!(guard.insert_once(b"another", at(110), at(100)));
        assert!(guard.insert_once(b"", at(110), at(100)));
    }

    #[test]
    fn expired_values_are_refused() {
        let guard = guard(100);
        assert!(!guard.insert_once(b"old", at(99), at(100)));
        assert!(guard.insert_once(b"just", at(100), at(100)));
    }

    #[test]
    fn a_full_guard_refuses_values_and_removes_none_early() {
        let guard = guard(10);
        for value in 0..10_u8 {
            assert!(guard.insert_once(&[value], at(110 + u64::from(value)), at(100)));
        }
        assert!(!guard.insert_once(b"one more", at(120), at(110)));
        for value in 0..10_u8 {
            assert!(!guard.insert_once(&[value], at(120), at(110)));
        }
        // At 111 the value that expired at 110 is removed, which makes space for one value.
        assert!(guard.insert_once(b"one more", at(121), at(111)));
        assert!(!guard.insert_once(b"yet another", at(121), at(111)));
    }

    #[test]
    fn the_number_of_values_is_limited_over_all_shards() {
        let guard = guard(1000);
        let admitted = (0..5000_u32).filter(|v| guard.insert_once(&v.to_be_bytes(), at(10), at(1)));
        let admitted = admitted.count();
        assert!((900..=1000).contains(&admitted));
        assert_eq!(count(&guard), admitted);
    }

    #[test]
    fn expired_values_are_removed() {
        let guard = guard(100);
        for round in 1..=100_u64 {
            for value in 0..10_u8 {
                assert!(guard.insert_once(&[value], at(round), at(round)));
            }
            assert_eq!(count(&guard), 10);
        }
        assert!(guard.shards.all().all(|shard| shard.by_expiry.len() == 1));
    }

    #[test]
    fn a_clock_set_back_admits_no_value_that_was_removed() {
        let guard = guard(100);
        assert!(guard.insert_once(b"binder", at(110), at(100)));
        assert!(guard.insert_once(b"another", at(121), at(111)));
        assert!(!guard.insert_once(b"binder", at(115), at(105)));
        assert!(!guard.insert_once(b"binder", at(120), at(110)));
        // From here on, the caller refuses the first value because of its age.
        assert!(guard.insert_once(b"third", at(121), at(111)));
    }

    #[test]
    fn a_new_guard_refuses_all_values_until_a_given_time() {
        let guard = ReplayGuard::new(100, at(110));
        assert!(!guard.insert_once(b"binder", at(120), at(100)));
        assert!(!guard.insert_once(b"binder", at(120), at(110)));
        assert!(guard.insert_once(b"binder", at(121), at(111)));
    }

    #[test]
    fn concurrent_insertions_admit_a_value_once() {
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
