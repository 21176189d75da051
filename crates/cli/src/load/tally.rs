//! What was counted, by one connection or by many.
//!
//! Must not know: sockets, threads. Next: [`super::report`].

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use tercel::Facts;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};

/// Counts and times.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// What was done while it was counted.
    pub(crate) done: u64,
    /// Content received or sent while it was counted.
    pub(crate) bytes: u64,
    /// How long each took.
    pub(crate) latency: Histogram<u64>,
    /// By how much this program was late to begin though a connection was free.
    pub(crate) lateness: Histogram<u64>,
    /// What was due and had found no free connection at the end.
    pub(crate) never_begun: u64,
    /// Handshakes from the first one on, by what was agreed.
    pub(crate) agreed: Vec<(Agreed, u64)>,
    pub(crate) errors: BTreeMap<String, u64>,
}

/// What a handshake led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) version: ProtocolVersion,
    pub(crate) suite: CipherSuite,
    pub(crate) group: Option<NamedGroup>,
    pub(crate) resumed: bool,
}

impl Agreed {
    pub(crate) fn of(facts: &Facts) -> Self {
        let Facts { version, cipher_suite: suite, group, resumed, .. } = *facts;
        Self { version, suite, group, resumed }
    }
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            done: 0,
            bytes: 0,
            latency: histogram(),
            lateness: histogram(),
            never_begun: 0,
            agreed: Vec::new(),
            errors: BTreeMap::new(),
        }
    }

    pub(crate) fn done(&mut self, took: Duration) {
        self.done += 1;
        self.waited(took);
    }

    /// A time without anything done.
    pub(crate) fn waited(&mut self, took: Duration) {
        self.latency.saturating_record(nanoseconds(took));
    }

    pub(crate) fn late(&mut self, by: Duration) {
        self.lateness.saturating_record(nanoseconds(by));
    }

    pub(crate) fn agreed(&mut self, what: Agreed) {
        self.agreed_times(what, 1);
    }

    fn agreed_times(&mut self, what: Agreed, times: u64) {
        match self.agreed.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += times,
            None => self.agreed.push((what, times)),
        }
    }

    pub(crate) fn error(&mut self, kind: &str) {
        self.error_times(kind, 1);
    }

    fn error_times(&mut self, kind: &str, times: u64) {
        // A server could word each error differently.
        let room = self.errors.len() < MOST_KINDS || self.errors.contains_key(kind);
        let kind = if room { kind } else { "of further kinds" };
        *self.errors.entry(kind.to_owned()).or_default() += times;
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// How many handshakes there were, and how many of them were resumed.
    pub(crate) fn handshakes(&self) -> (u64, u64) {
        self.agreed.iter().fold((0, 0), |(all, resumed), (what, count)| {
            (all + count, resumed + if what.resumed { *count } else { 0 })
        })
    }

    /// Adds what another one has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.bytes += other.bytes;
        self.never_begun += other.never_begun;
        // Both sides have the bounds of `histogram`, so there is no error.
        let _ = self.latency.add(&other.latency);
        let _ = self.lateness.add(&other.lateness);
        for (what, count) in &other.agreed {
            self.agreed_times(*what, *count);
        }
        for (kind, count) in &other.errors {
            self.error_times(kind, *count);
        }
    }
}

/// Nanoseconds up to an hour, to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("constants that fit together")
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1)
}

const MOST_KINDS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_everything() {
        let agreed = |resumed| Agreed {
            version: ProtocolVersion::TLS1_3,
            suite: CipherSuite::TLS_AES_128_GCM_SHA256,
            group: None,
            resumed,
        };
        let (mut one, mut two) = (Tally::new(), Tally::new());
        for tally in [&mut one, &mut two] {
            tally.done(Duration::from_millis(1));
            tally.agreed(agreed(false));
            tally.error("reset");
        }
        two.agreed(agreed(true));
        two.waited(Duration::from_secs(9));
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
        let mut tally = Tally::new();
        for number in 0..1000 {
            tally.error(&number.to_string());
        }
        assert_eq!((tally.failed(), tally.errors.len()), (1000, MOST_KINDS + 1));
    }
}
