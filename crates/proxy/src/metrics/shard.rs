//! What one worker counts.
//!
//! Must not know: the other workers. Next: [`super::expose`], where the sums get their names.

use std::io;
use std::time::Duration;

use tercel::wire::{AlertDescription, CipherSuite, NamedGroup};
use tercel::{EarlyData, Facts};

use super::histogram::{Count, Durations, Table};
use super::labels::{
    self, AcceptFailure, BackendFailure, Failure, Outcome, Refused, VERSIONS, place,
};

/// Versions by suites by groups by outcomes.
pub(super) const HANDSHAKES: usize =
    VERSIONS.len() * labels::SUITES * labels::GROUPS * Outcome::ALL.len();

/// Reasons by alerts.
pub(super) const FAILURES: usize = Failure::ALL.len() * labels::ALERTS;

/// The counters of one worker. Any thread may call it; only one should, for then no cache line is contended.
///
/// The alignment keeps the counters of two workers in different cache lines, also for processors that fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Shard {
    pub(super) received: Count,
    pub(super) sent: Count,
    pub(super) accepted: Count,
    pub(super) opened: Count,
    pub(super) closed: Count,
    pub(super) retried: Count,
    pub(super) early_data_rejected: Count,
    pub(super) early_data_at_once: Count,
    pub(super) early_data_kept: Count,
    pub(super) early_data_abandoned: Count,
    pub(super) refused: Table<{ Refused::ALL.len() }>,
    pub(super) accept_failed: Table<{ AcceptFailure::ALL.len() }>,
    pub(super) backend_failed: Table<{ BackendFailure::ALL.len() }>,
    pub(super) handshake_duration: Durations,
    pub(super) backend_connect_duration: Durations,
    pub(super) handshakes: Table<HANDSHAKES>,
    pub(super) failures: Table<FAILURES>,
}

impl Shard {
    /// A connection was accepted, whatever comes of it.
    pub fn accepted(&self) {
        self.accepted.one();
    }

    /// It was closed before its handshake began.
    pub fn refused(&self, why: Refused) {
        self.refused.one(why.index());
    }

    /// A call of `accept` failed.
    pub fn accept_failed(&self, error: &io::Error) {
        self.accept_failed.one(AcceptFailure::of(error).index());
    }

    /// A connection takes up room from now on: every call wants one of [`Shard::closed`], on whatever worker.
    pub fn opened(&self) {
        self.opened.one();
    }

    /// A connection that was [`Shard::opened`] is gone.
    pub fn closed(&self) {
        self.closed.one();
    }

    /// A handshake is complete, `duration` after the connection was accepted.
    pub fn handshake_done(&self, facts: &Facts, duration: Duration) {
        let version = VERSIONS.iter().position(|(version, _)| *version == facts.version);
        let suite = place(CipherSuite::NAMED, Some(facts.cipher_suite));
        let group = place(NamedGroup::NAMED, facts.group);
        if let Some(version) = version {
            self.handshakes
                .one(Handshake { version, suite, group, outcome: Outcome::of(facts) }.place());
        }
        self.handshake_duration.observe(duration);
        if facts.retried {
            self.retried.one();
        }
        if facts.early_data == EarlyData::Rejected {
            self.early_data_rejected.one();
        }
    }

    /// A handshake failed, with the error that `accept` gave.
    pub fn handshake_failed(&self, error: &io::Error) {
        let alert = place(AlertDescription::NAMED, labels::alert(error));
        let row = Failure::of(error).index().saturating_mul(labels::ALERTS);
        self.failures.one(row.saturating_add(alert));
    }

    /// Early data goes to a backend before its handshake is complete.
    pub fn early_data_handed_on(&self) {
        self.early_data_at_once.one();
    }

    /// Early data goes to a backend now that its handshake is complete.
    pub fn early_data_kept(&self) {
        self.early_data_kept.one();
    }

    /// Early data that was [handed on](Self::early_data_handed_on) was followed by no handshake; its backend was cut off.
    pub fn early_data_abandoned(&self) {
        self.early_data_abandoned.one();
    }

    /// So many bytes of plaintext came from a client.
    pub fn received(&self, bytes: u64) {
        self.received.add(bytes);
    }

    /// So many bytes of plaintext went to a client.
    pub fn sent(&self, bytes: u64) {
        self.sent.add(bytes);
    }

    /// A connection to a backend stands, `duration` after it was begun.
    pub fn backend_connected(&self, duration: Duration) {
        self.backend_connect_duration.observe(duration);
    }

    /// A connection to a backend did not come about, or was cut.
    pub fn backend_failed(&self, why: BackendFailure) {
        self.backend_failed.one(why.index());
    }
}

/// One cell of the table of handshakes.
pub(super) struct Handshake {
    pub(super) version: usize,
    pub(super) suite: usize,
    pub(super) group: usize,
    pub(super) outcome: Outcome,
}

impl Handshake {
    /// Its place in the table: the last label counts fastest.
    fn place(&self) -> usize {
        self.version
            .saturating_mul(labels::SUITES)
            .saturating_add(self.suite)
            .saturating_mul(labels::GROUPS)
            .saturating_add(self.group)
            .saturating_mul(Outcome::ALL.len())
            .saturating_add(self.outcome.index())
    }

    /// All cells, in the table's order.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..VERSIONS.len()).flat_map(|version| {
            (0..labels::SUITES).flat_map(move |suite| {
                (0..labels::GROUPS).flat_map(move |group| {
                    Outcome::ALL.iter().map(move |&outcome| Self { version, suite, group, outcome })
                })
            })
        })
    }
}
