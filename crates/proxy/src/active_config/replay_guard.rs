//! Replay guards for early data. RFC 9846 8.2
//!
//! A guard has no entries from before the process started, so it refuses all early data during a
//! startup window. Tests set this window, with functions that are defined here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::session::{AdmitEarlyData, ReplayGuard, ReplayGuardId};
use tercel_fleet::{Fleet, FleetError, Settings};

/// The replay guard of this process.
pub(crate) struct LocalReplayGuard {
    guard: ReplayGuard,
    /// How long a ClientHello can be fresh. Early data is refused for this time after a start.
    startup_window: Duration,
    /// The last second (since the Unix epoch) at which early data admitted by the previous guard
    /// may still be fresh.
    refuse_until: AtomicU64,
}

impl LocalReplayGuard {
    pub(crate) fn new(capacity: usize, now: UnixTime, window: Duration) -> Self {
        let guard = guard(capacity, now, window);
        Self { guard, startup_window: startup_window(window), refuse_until: AtomicU64::new(0) }
    }

    /// Refuses early data while the previous guard may still admit some (`overlap`), and then until
    /// all early data that the previous guard admitted is no longer fresh.
    pub(crate) fn refuse_while_previous_admits(&self, now: UnixTime, overlap: Duration) {
        // A second is added, because clock readings are truncated to seconds.
        let time = overlap.saturating_add(self.startup_window).as_secs().saturating_add(1);
        self.refuse_until.fetch_max(now.as_secs().saturating_add(time), Ordering::Relaxed);
    }
}

impl AdmitEarlyData for LocalReplayGuard {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        now.as_secs() > self.refuse_until.load(Ordering::Relaxed)
            && self.guard.admit_early_data(unique, now)
    }

    fn freshness_window(&self) -> Duration {
        self.guard.freshness_window()
    }

    fn id(&self) -> Option<ReplayGuardId> {
        self.guard.id()
    }
}

#[cfg(not(all(test, debug_assertions)))]
fn startup_window(window: Duration) -> Duration {
    ReplayGuard::freshness_period(window)
}

#[cfg(not(all(test, debug_assertions)))]
fn guard(capacity: usize, now: UnixTime, window: Duration) -> ReplayGuard {
    ReplayGuard::for_freshness_window(capacity, now, window)
}

/// The state shared with other processes, with a replay guard if a route accepts early data. The
/// fleet does not contact the store before it is activated.
#[cfg(not(all(test, debug_assertions)))]
pub(crate) fn fleet(settings: &Settings) -> Result<Fleet, FleetError> {
    Fleet::prepare(settings)
}

#[cfg(all(test, debug_assertions))]
pub(crate) use short::{fleet, with_startup_window};
#[cfg(all(test, debug_assertions))]
use short::{guard, startup_window};

#[cfg(all(test, debug_assertions))]
mod short {
    use std::cell::Cell;

    use super::*;

    /// The startup window in tests, which none of them sees the end of.
    const STARTUP_WINDOW: Duration = Duration::from_secs(600);

    /// The time for which a node of a fleet refuses early data: tests wait for its end.
    const BLIND_TIME: Duration = Duration::from_secs(4);

    thread_local! {
        /// The startup window of guards that this thread makes; `None` if it is over already.
        static WINDOW: Cell<Option<Duration>> = const { Cell::new(Some(STARTUP_WINDOW)) };
    }

    /// Calls `make`, which makes guards with this startup window. `None` makes guards whose window
    /// has ended. Clocks are read in whole seconds, so a window may last one second more.
    pub(crate) fn with_startup_window<T>(window: Option<Duration>, make: impl FnOnce() -> T) -> T {
        let before = WINDOW.replace(window);
        let made = make();
        WINDOW.set(before);
        made
    }

    pub(super) fn startup_window(_: Duration) -> Duration {
        WINDOW.get().unwrap_or(STARTUP_WINDOW)
    }

    pub(super) fn guard(capacity: usize, now: UnixTime, _: Duration) -> ReplayGuard {
        let until = match WINDOW.get() {
            Some(window) => now.as_secs().saturating_add(window.as_secs()),
            None => now.as_secs().saturating_sub(1),
        };
        ReplayGuard::new(capacity, UnixTime::since_unix_epoch(Duration::from_secs(until)))
    }

    pub(crate) fn fleet(settings: &Settings) -> Result<Fleet, FleetError> {
        Fleet::prepare_blind_for(settings, BLIND_TIME)
    }

    #[test]
    fn guard_refuses_until_the_previous_one_has_stopped_admitting() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let own = LocalReplayGuard::new(1000, at(100), Duration::from_secs(60));
        assert!(!own.admit_early_data(b"one", at(100 + STARTUP_WINDOW.as_secs())));
        assert!(own.admit_early_data(b"one", at(101 + STARTUP_WINDOW.as_secs())));
        own.refuse_while_previous_admits(at(200), Duration::from_millis(15_500));
        for (now, admits) in [
            (200, false),
            (216 + STARTUP_WINDOW.as_secs(), false),
            (220 + STARTUP_WINDOW.as_secs(), true),
        ] {
            assert_eq!(own.admit_early_data(b"another", at(now)), admits, "{now}");
        }
        assert!(!own.admit_early_data(b"another", at(221 + STARTUP_WINDOW.as_secs())));
    }
}
