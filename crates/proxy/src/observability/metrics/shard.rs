//! The counters of one worker.

use std::io;
use std::time::Duration;

use tercel::wire::{AlertDescription, CipherSuite, NamedGroup};
use tercel::{ConnectionInfo, EarlyData};

use super::histogram::{Counter, CounterTable, Histogram};
use super::labels::{
    self, AcceptFailure, BackendFailure, ConnectionRefusal, EchResult, HandshakeFailure,
    HandshakeOutcome, VERSIONS, slot,
};

/// The number of handshake counters: one for each version, suite, group and outcome.
pub(super) const HANDSHAKES: usize =
    VERSIONS.len() * labels::SUITES * labels::GROUPS * HandshakeOutcome::ALL.len();

/// The number of failure counters: one for each reason and alert.
pub(super) const FAILURES: usize = HandshakeFailure::ALL.len() * labels::ALERTS;

/// The counters of one worker. Any thread may increment the counters, but only one thread should,
/// to avoid contention for cache lines.
///
/// The alignment keeps the counters of two workers in different cache lines, and in different pairs
/// of lines for processors that prefetch pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Shard {
    pub(super) received: Counter,
    pub(super) sent: Counter,
    pub(super) accepted: Counter,
    pub(super) opened: Counter,
    pub(super) closed: Counter,
    pub(super) retried: Counter,
    pub(super) early_data_rejected: Counter,
    pub(super) early_data_at_once: Counter,
    pub(super) early_data_after_handshake: Counter,
    pub(super) early_data_abandoned: Counter,
    pub(super) ech: CounterTable<{ EchResult::ALL.len() }>,
    pub(super) passthrough: Counter,
    pub(super) passthrough_received: Counter,
    pub(super) passthrough_sent: Counter,
    pub(super) refused: CounterTable<{ ConnectionRefusal::ALL.len() }>,
    pub(super) accept_failed: CounterTable<{ AcceptFailure::ALL.len() }>,
    pub(super) backend_failed: CounterTable<{ BackendFailure::ALL.len() }>,
    pub(super) handshake_duration: Histogram,
    pub(super) backend_connect_duration: Histogram,
    pub(super) handshakes: CounterTable<HANDSHAKES>,
    pub(super) failures: CounterTable<FAILURES>,
}

impl Shard {
    /// Adds the counts of another shard.
    pub(super) fn merge(&self, other: &Self) {
        self.received.merge(&other.received);
        self.sent.merge(&other.sent);
        self.accepted.merge(&other.accepted);
        self.opened.merge(&other.opened);
        self.closed.merge(&other.closed);
        self.retried.merge(&other.retried);
        self.early_data_rejected.merge(&other.early_data_rejected);
        self.early_data_at_once.merge(&other.early_data_at_once);
        self.early_data_after_handshake.merge(&other.early_data_after_handshake);
        self.early_data_abandoned.merge(&other.early_data_abandoned);
        self.ech.merge(&other.ech);
        self.passthrough.merge(&other.passthrough);
        self.passthrough_received.merge(&other.passthrough_received);
        self.passthrough_sent.merge(&other.passthrough_sent);
        self.refused.merge(&other.refused);
        self.accept_failed.merge(&other.accept_failed);
        self.backend_failed.merge(&other.backend_failed);
        self.handshake_duration.merge(&other.handshake_duration);
        self.backend_connect_duration.merge(&other.backend_connect_duration);
        self.handshakes.merge(&other.handshakes);
        self.failures.merge(&other.failures);
    }

    /// Counts an accepted connection.
    pub fn accepted(&self) {
        self.accepted.increment();
    }

    /// Counts a connection refused before its handshake.
    pub fn refused(&self, reason: ConnectionRefusal) {
        self.refused.increment(reason.index());
    }

    /// Counts a failed `accept` call.
    pub fn accept_failed(&self, error: &io::Error) {
        self.accept_failed.increment(AcceptFailure::of(error).index());
    }

    /// Counts an opened connection. Each call must be matched by a call of [`Shard::closed`], on
    /// any worker.
    pub fn opened(&self) {
        self.opened.increment();
    }

    /// Counts the closing of an [opened](Shard::opened) connection.
    pub fn closed(&self) {
        self.closed.increment();
    }

    /// Counts a completed handshake, `duration` after accept.
    pub fn handshake_done(&self, info: &ConnectionInfo, duration: Duration) {
        let version = VERSIONS.iter().position(|(version, _)| *version == info.version);
        let suite = slot(CipherSuite::NAMED, Some(info.cipher_suite));
        let group = slot(NamedGroup::NAMED, info.group);
        if let Some(version) = version {
            self.handshakes.increment(
                HandshakeLabels { version, suite, group, outcome: HandshakeOutcome::of(info) }
                    .slot(),
            );
        }
        self.handshake_duration.observe(duration);
        if info.retried {
            self.retried.increment();
        }
        if info.early_data == EarlyData::Rejected {
            self.early_data_rejected.increment();
        }
        if let Some(result) = EchResult::of(info) {
            self.ech(result);
        }
    }

    /// Counts a handshake that failed with this error.
    pub fn handshake_failed(&self, error: &io::Error) {
        let alert = slot(AlertDescription::NAMED, labels::alert(error));
        let row = HandshakeFailure::of(error).index().saturating_mul(labels::ALERTS);
        self.failures.increment(row.saturating_add(alert));
        self.client_failed(error);
    }

    /// Counts a connection that ended with this error of the client, if the reason is the rejection
    /// of its Encrypted ClientHello.
    pub fn client_failed(&self, error: &io::Error) {
        if EchResult::is_rejection(error) {
            self.ech(EchResult::Rejected);
        }
    }

    /// Counts a client's Encrypted ClientHello.
    pub fn ech(&self, result: EchResult) {
        self.ech.increment(result.index());
    }

    /// Counts early data forwarded before its handshake is complete.
    pub fn early_data_forwarded_at_once(&self) {
        self.early_data_at_once.increment();
    }

    /// Counts early data forwarded after its handshake.
    pub fn early_data_forwarded_after_handshake(&self) {
        self.early_data_after_handshake.increment();
    }

    /// Counts a failed handshake whose early data had been
    /// [forwarded](Self::early_data_forwarded_at_once).
    pub fn early_data_abandoned(&self) {
        self.early_data_abandoned.increment();
    }

    /// Counts plaintext bytes received from a client.
    pub fn received(&self, bytes: u64) {
        self.received.add(bytes);
    }

    /// Counts plaintext bytes sent to a client.
    pub fn sent(&self, bytes: u64) {
        self.sent.add(bytes);
    }

    /// Counts a connection that is relayed without TLS.
    pub fn passed_through(&self) {
        self.passthrough.increment();
    }

    /// Counts bytes received from and sent to a client whose TLS is not terminated here.
    pub fn relayed_through(&self, received: u64, sent: u64) {
        self.passthrough_received.add(received);
        self.passthrough_sent.add(sent);
    }

    /// Counts a backend connection that took `duration` to connect.
    pub fn backend_connected(&self, duration: Duration) {
        self.backend_connect_duration.observe(duration);
    }

    /// Counts a backend connection that failed.
    pub fn backend_failed(&self, reason: BackendFailure) {
        self.backend_failed.increment(reason.index());
    }
}

/// The labels of one handshake counter.
pub(super) struct HandshakeLabels {
    pub(super) version: usize,
    pub(super) suite: usize,
    pub(super) group: usize,
    pub(super) outcome: HandshakeOutcome,
}

impl HandshakeLabels {
    /// The slot in the counter table; the last label varies fastest.
    fn slot(&self) -> usize {
        self.version
            .saturating_mul(labels::SUITES)
            .saturating_add(self.suite)
            .saturating_mul(labels::GROUPS)
            .saturating_add(self.group)
            .saturating_mul(HandshakeOutcome::ALL.len())
            .saturating_add(self.outcome.index())
    }

    /// All label combinations, in the order of their slots.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..VERSIONS.len()).flat_map(|version| {
            (0..labels::SUITES).flat_map(move |suite| {
                (0..labels::GROUPS).flat_map(move |group| {
                    HandshakeOutcome::ALL.iter().map(move |&outcome| Self {
                        version,
                        suite,
                        group,
                        outcome,
                    })
                })
            })
        })
    }
}
