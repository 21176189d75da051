//! The source of time.

use pki_types::UnixTime;

/// The source of time of a configuration.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> UnixTime;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        UnixTime::now()
    }
}
