//! Pauses between attempts to accept a connection.
//!
//! Must not know: runtimes. Next: [`crate::listener`].

use std::io;
use std::time::Duration;

/// How long a server waits after an `accept` that failed.
///
/// A system without free file descriptors or memory lets `accept` fail at once, again and again,
/// while the connection stays in its queue: a loop without a pause takes a whole processor.
///
/// ```
/// # use std::io::ErrorKind;
/// # use std::time::Duration;
/// let mut backoff = tercel_tokio::AcceptBackoff::new();
/// let short = backoff.after(&ErrorKind::OutOfMemory.into());
/// let longer = backoff.after(&ErrorKind::OutOfMemory.into());
/// assert!(Duration::ZERO < short && short < longer);
/// // One client has gone before it was accepted: the next one need not wait for that.
/// assert_eq!(backoff.after(&ErrorKind::ConnectionAborted.into()), Duration::ZERO);
/// // After a connection was accepted.
/// backoff.reset();
/// ```
#[derive(Clone, Debug, Default)]
pub struct AcceptBackoff {
    failures: u32,
    /// Errors of one connection each, without a pause between them.
    immediate: u32,
}

impl AcceptBackoff {
    /// Before the first attempt.
    #[must_use]
    pub const fn new() -> Self {
        Self { failures: 0, immediate: 0 }
    }

    /// A connection was accepted.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Whether the last attempts failed for want of something.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// How long to wait after this error: 5 milliseconds at first, then twice as long each time,
    /// 250 milliseconds at most. Zero where it concerns one connection only, unless there are many
    /// of those in a row.
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

/// The client was gone before it was accepted, or the call was interrupted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);

/// A flood of connections that are reset is not a reason to spin.
const MAX_IMMEDIATE: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_begin_anew() {
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
    fn connections_that_are_gone_cost_no_pause_unless_they_are_many() {
        let mut backoff = AcceptBackoff::new();
        let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
        let paused = (0..330).filter(|_| backoff.after(&gone) > Duration::ZERO).count();
        assert_eq!(paused, 10);
    }
}
