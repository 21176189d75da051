//! Guards of early data, blind at first: what was admitted before this process began is not known to it.
//!
//! Tests cannot wait for as long as servers have to, and this is the one place that knows it. Must not know: what is
//! guarded. Next: [`crate::live`]; RFC 9846 8.2.

use tercel::ReplayGuard;
use tercel::pki_types::UnixTime;
use tercel_fleet::{Fleet, FleetError, Settings};

/// The guard of this process alone.
#[cfg(not(test))]
pub(crate) fn guard(capacity: usize, now: UnixTime, window: u32) -> ReplayGuard {
    ReplayGuard::for_freshness_window(capacity, now, window)
}

/// What is shared with other processes, with their guard if early data is wanted.
#[cfg(not(test))]
pub(crate) fn fleet(settings: &Settings) -> Result<Fleet, FleetError> {
    Fleet::connect(settings)
}

#[cfg(test)]
pub(crate) use short::{BLIND, fleet, guard};

#[cfg(test)]
mod short {
    use std::time::Duration;

    use super::*;

    /// Long enough to be met, short enough to be waited for. Clocks are read in whole seconds, so it may be one more.
    pub(crate) const BLIND: Duration = Duration::from_secs(4);

    pub(crate) fn guard(capacity: usize, now: UnixTime, _: u32) -> ReplayGuard {
        let until = now.as_secs().saturating_add(BLIND.as_secs());
        ReplayGuard::new(capacity, UnixTime::since_unix_epoch(Duration::from_secs(until)))
    }

    pub(crate) fn fleet(settings: &Settings) -> Result<Fleet, FleetError> {
        Fleet::connect_blind_for(settings, BLIND)
    }
}
