//! Counters and latency histograms, of one connection or of many.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use tercel::ConnectionInfo;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};

/// The results of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    /// Operations that finished within the window.
    pub(crate) done: u64,
    /// Bytes of content received or sent within the window.
    pub(crate) bytes: u64,
    /// Latency of each operation.
    pub(crate) latency: Histogram<u64>,
    /// The delay with which a timer of this program started an operation. Operations that were
    /// already late because their connection was busy are not included.
    pub(crate) timer_lateness: Histogram<u64>,
    /// Operations that were due but had no free connection until the end.
    pub(crate) not_started: u64,
    /// All handshakes, by negotiated parameters.
    pub(crate) negotiated: Vec<(Negotiated, u64)>,
    pub(crate) errors: BTreeMap<String, u64>,
}

/// The negotiated parameters of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Negotiated {
    pub(crate) version: ProtocolVersion,
    pub(crate) suite: CipherSuite,
    pub(crate) group: Option<NamedGroup>,
    pub(crate) resumed: bool,
}

impl Negotiated {
    pub(crate) fn of(info: &ConnectionInfo) -> Self {
        let ConnectionInfo { version, cipher_suite: suite, group, resumed, .. } = *info;
        Self { version, suite, group, resumed }
    }
}

impl Statistics {
    pub(crate) fn new() -> Self {
        Self {
            done: 0,
            bytes: 0,
            latency: histogram(),
            timer_lateness: histogram(),
            not_started: 0,
            negotiated: Vec::new(),
            errors: BTreeMap::new(),
        }
    }

    pub(crate) fn done(&mut self, took: Duration) {
        self.done += 1;
        self.record_latency(took);
    }

    /// Records a latency without counting an operation.
    pub(crate) fn record_latency(&mut self, took: Duration) {
        self.latency.saturating_record(nanoseconds(took));
    }

    pub(crate) fn record_timer_lateness(&mut self, by: Duration) {
        self.timer_lateness.saturating_record(nanoseconds(by));
    }

    pub(crate) fn negotiated(&mut self, what: Negotiated) {
        self.negotiated_times(what, 1);
    }

    fn negotiated_times(&mut self, what: Negotiated, times: u64) {
        match self.negotiated.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += times,
            None => self.negotiated.push((what, times)),
        }
    }

    pub(crate) fn error(&mut self, kind: &str) {
        self.error_times(kind, 1);
    }

    fn error_times(&mut self, kind: &str, times: u64) {
        // The number of kinds is limited, because a server could cause any number of messages.
        let room = self.errors.len() < MAX_ERROR_KINDS || self.errors.contains_key(kind);
        let kind = if room { kind } else { "other errors" };
        *self.errors.entry(kind.to_owned()).or_default() += times;
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// The number of handshakes, and how many of them were resumed.
    pub(crate) fn handshakes(&self) -> (u64, u64) {
        self.negotiated.iter().fold((0, 0), |(all, resumed), (what, count)| {
            (all + count, resumed + if what.resumed { *count } else { 0 })
        })
    }

    /// Adds the results of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.bytes += other.bytes;
        self.not_started += other.not_started;
        // Both histograms have the same bounds, so this cannot fail.
        let _ = self.latency.add(&other.latency);
        let _ = self.timer_lateness.add(&other.timer_lateness);
        for (what, count) in &other.negotiated {
            self.negotiated_times(*what, *count);
        }
        for (kind, count) in &other.errors {
            self.error_times(kind, *count);
        }
    }
}

/// A histogram of nanoseconds up to an hour, with three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("valid constants")
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1)
}

const MAX_ERROR_KINDS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_everything() {
        let negotiated = |resumed| Negotiated {
            version: ProtocolVersion::TLS1_3,
            suite: CipherSuite::TLS_AES_128_GCM_SHA256,
            group: None,
            resumed,
        };
        let (mut one, mut two) = (Statistics::new(), Statistics::new());
        for statistics in [&mut one, &mut two] {
            statistics.done(Duration::from_millis(1));
            statistics.negotiated(negotiated(false));
            statistics.error("reset");
        }
        two.negotiated(negotiated(true));
        two.record_latency(Duration::from_secs(9));
        two.error("timeout");
        one.add(&two);
        assert_eq!((one.done, one.failed(), one.handshakes()), (2, 3, (3, 1)));
        assert_eq!(one.errors.get("reset"), Some(&2));
        assert_eq!(one.latency.len(), 3);
        let near = |value: u64, expected: u64| value.abs_diff(expected) <= expected / 1000;
        assert!(near(one.latency.value_at_quantile(0.5), 1_000_000));
        assert!(near(one.latency.max(), 9_000_000_000));
    }

    #[test]
    fn kinds_of_errors_are_bounded() {
        let mut statistics = Statistics::new();
        for number in 0..1000 {
            statistics.error(&number.to_string());
        }
        assert_eq!((statistics.failed(), statistics.errors.len()), (1000, MAX_ERROR_KINDS + 1));
    }
}
