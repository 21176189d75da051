//! Backoff for failed calls to `accept`.

use std::io;
use std::time::Duration;

/// A backoff for failed calls to `accept`.
///
/// Without free file descriptors or memory, `accept` fails at once while the connection stays in
/// the backlog: a loop without a pause would use a whole processor.
///
/// ```
/// # use std::io::ErrorKind;
/// # use std::time::Duration;
/// let mut backoff = tercel_tokio::AcceptBackoff::new();
/// let short = backoff.after(&ErrorKind::OutOfMemory.into());
/// let longer = backoff.after(&ErrorKind::OutOfMemory.into());
/// assert!(Duration::ZERO < short && short < longer);
/// // One client closed before it was accepted: the next attempt need not wait.
/// assert_eq!(backoff.after(&ErrorKind::ConnectionAborted.into()), Duration::ZERO);
/// // After a connection was accepted.
/// backoff.reset();
/// ```
#[derive(Clone, Debug, Default)]
pub struct AcceptBackoff {
    failures: u32,
    /// The number of consecutive errors for which there was no pause.
    immediate: u32,
}

impl AcceptBackoff {
    /// Creates a backoff without failures.
    #[must_use]
    pub const fn new() -> Self {
        Self { failures: 0, immediate: 0 }
    }

    /// Resets the backoff, after a connection was accepted.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Whether the last attempts failed for lack of resources.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// How long to wait after this error: 5 milliseconds at first, doubled each time, 250
    /// milliseconds at most. An error that concerns one connection only, such as a reset, causes no
    /// wait, unless many such errors occur in a row.
    pub fn after(&mut self, error: &io::Error) -> Duration {
        if is_of_one_connection(error) && self.immediate < MAX_IMMEDIATE {
            self.immediate = self.immediate.saturating_add(1);
            return Duration::ZERO;
        }
        let wait = FIRST.saturating_mul(1 << self.failures.min(6));
        self.failures = self.failures.saturating_add(1);
        self.immediate = 0;
        wait.min(LONGEST)
    }
}

/// Whether the error concerns one connection only: the client closed before it was accepted, or the
/// call was interrupted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);

/// The limit of errors without a pause, so that a flood of resets does not cause a busy loop.
const MAX_IMMEDIATE: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_can_be_reset() {
        let mut backoff = AcceptBackoff::new();
        let full = io::Error::from(io::ErrorKind::OutOfMemory);
        let waits: Vec<_> = (0..8).map(|_| backoff.after(&full).as_millis()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 250, 250]);
        assert!(backoff.is_failing());
        for _ in 0..1000 {
            assert_eq!(backoff.after(&full), LONGEST);
        }
        backoff.reset();
        assert!(!backoff.is_failing());
        assert_eq!(backoff.after(&full), FIRST);
    }

    #[test]
    fn closed_connections_cause_a_pause_only_if_they_are_many() {
        let mut backoff = AcceptBackoff::new();
        let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
        let paused = (0..330).filter(|_| backoff.after(&gone) > Duration::ZERO).count();
        assert_eq!(paused, 10);
    }
}
