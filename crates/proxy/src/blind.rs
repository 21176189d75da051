//! Guards of early data, blind at first: what was admitted before this process began is not known to it.
//!
//! Tests cannot wait for as long as servers have to, and this is the one place that knows it. Must not know: what is
//! guarded. Next: [`crate::live`]; RFC 9846 8.2.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::{AdmitEarlyData, ReplayGuard};
use tercel_fleet::{Fleet, FleetError, Settings};

/// The guard of this process alone.
pub(crate) struct OwnGuard {
    remembers: ReplayGuard,
    /// How long a hello can be fresh.
    blind: Duration,
    /// Up to and including this second another guard may have admitted what could still be fresh.
    beside_until: AtomicU64,
}

impl OwnGuard {
    pub(crate) fn new(capacity: usize, now: UnixTime, window: u32) -> Self {
        let remembers = guard(capacity, now, window);
        Self { remembers, blind: blind_time(window), beside_until: AtomicU64::new(0) }
    }

    /// Refuses for `still`, while another guard may go on admitting, and for as long after that as what it admitted is
    /// fresh.
    pub(crate) fn follow_another(&self, now: UnixTime, still: Duration) {
        // A second is for what is cut off.
        let time = still.saturating_add(self.blind).as_secs().saturating_add(1);
        self.beside_until.fetch_max(now.as_secs().saturating_add(time), Ordering::Relaxed);
    }
}

impl AdmitEarlyData for OwnGuard {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        now.as_secs() > self.beside_until.load(Ordering::Relaxed)
            && self.remembers.admit_early_data(unique, now)
    }

    fn freshness_window(&self) -> u32 {
        self.remembers.freshness_window()
    }
}

#[cfg(not(all(test, debug_assertions)))]
fn blind_time(window: u32) -> Duration {
    ReplayGuard::fresh_for(window)
}

#[cfg(not(all(test, debug_assertions)))]
fn guard(capacity: usize, now: UnixTime, window: u32) -> ReplayGuard {
    ReplayGuard::for_freshness_window(capacity, now, window)
}

/// What is shared with other processes, with their guard if early data is wanted.
#[cfg(not(all(test, debug_assertions)))]
pub(crate) fn fleet(settings: &Settings) -> Result<Fleet, FleetError> {
    Fleet::connect(settings)
}

#[cfg(all(test, debug_assertions))]
pub(crate) use short::{BLIND, fleet};
#[cfg(all(test, debug_assertions))]
use short::{blind_time, guard};

#[cfg(all(test, debug_assertions))]
mod short {
    use super::*;

    /// Long enough to be met, short enough to be waited for. Clocks are read in whole seconds, so it may be one more.
    pub(crate) const BLIND: Duration = Duration::from_secs(4);

    pub(super) fn blind_time(_: u32) -> Duration {
        BLIND
    }

    pub(super) fn guard(capacity: usize, now: UnixTime, _: u32) -> ReplayGuard {
        let until = now.as_secs().saturating_add(BLIND.as_secs());
        ReplayGuard::new(capacity, UnixTime::since_unix_epoch(Duration::from_secs(until)))
    }

    pub(crate) fn fleet(settings: &Settings) -> Result<Fleet, FleetError> {
        Fleet::connect_blind_for(settings, BLIND)
    }

    #[test]
    fn a_guard_that_follows_another_is_blind_once_that_one_is_done() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let own = OwnGuard::new(1000, at(100), 60);
        assert!(!own.admit_early_data(b"one", at(100 + BLIND.as_secs())));
        assert!(own.admit_early_data(b"one", at(101 + BLIND.as_secs())));
        own.follow_another(at(200), Duration::from_millis(15_500));
        for (now, admits) in
            [(200, false), (216 + BLIND.as_secs(), false), (220 + BLIND.as_secs(), true)]
        {
            assert_eq!(own.admit_early_data(b"another", at(now)), admits, "{now}");
        }
        assert!(!own.admit_early_data(b"another", at(221 + BLIND.as_secs())));
    }
}
