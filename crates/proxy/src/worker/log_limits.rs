//! Limits of log lines about single connections.

use std::time::Instant;

use crate::observability::logs::LogRateLimit;
use crate::observability::metrics::labels::HandshakeFailure;

/// The maximum number of lines of one kind per second and worker.
const LINES_PER_SECOND: u32 = 10;

/// A kind of log line about a single connection. Each kind has a rate limit of its own, so that
/// lines that clients cause at will do not suppress others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    /// Failed `accept` calls.
    Accept,
    /// Failed connections to backends.
    Backend,
    /// Rejected PROXY headers.
    ProxyHeader,
    /// Failed handshakes, by reason.
    Handshake(HandshakeFailure),
}

/// The number of kinds without those of handshakes.
const OTHER_KINDS: usize = 3;

/// The rate limits of one worker, one for each [`LogKind`].
#[derive(Debug)]
pub(crate) struct LogLimits([LogRateLimit; OTHER_KINDS + HandshakeFailure::ALL.len()]);

impl Default for LogLimits {
    fn default() -> Self {
        Self(std::array::from_fn(|_| LogRateLimit::new(LINES_PER_SECOND)))
    }
}

impl LogLimits {
    /// Admits or suppresses an event of this kind, as [`LogRateLimit::admit`].
    pub(crate) fn admit(&self, kind: LogKind, now: Instant) -> Option<u64> {
        let index = match kind {
            LogKind::Accept => 0,
            LogKind::Backend => 1,
            LogKind::ProxyHeader => 2,
            LogKind::Handshake(failure) => failure.index().saturating_add(OTHER_KINDS),
        };
        self.0.get(index)?.admit(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_limit() {
        let (limits, now) = (LogLimits::default(), Instant::now());
        let failures = HandshakeFailure::ALL.iter().map(|failure| LogKind::Handshake(*failure));
        let others = [LogKind::Accept, LogKind::Backend, LogKind::ProxyHeader];
        for kind in others.into_iter().chain(failures) {
            let admitted = (0..100).filter_map(|_| limits.admit(kind, now)).count();
            assert_eq!(admitted, LINES_PER_SECOND as usize, "{kind:?}");
        }
    }
}
