//! Exposition of the counters in OpenMetrics format.
//!
//! Names follow the Prometheus conventions: prefix `tercel_`, a unit as suffix, `_total` for
//! counters. Families with hundreds of possible label combinations list only the combinations with
//! a nonzero count. Families with few combinations list all of them.

use std::fmt;
use std::time::SystemTime;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, CipherSuite, NamedGroup};

use super::histogram::{BOUNDS, Histogram, HistogramTotals};
use super::labels::{
    ALERTS, AcceptFailure, BackendFailure, ConnectionRefusal, HandshakeFailure, HandshakeOutcome,
    Reload, VERSIONS, slot_name,
};
use super::shard::{FAILURES, HANDSHAKES, HandshakeLabels, Shard};
use super::{GlobalMetrics, Metrics, unix_seconds};

impl Metrics {
    /// Renders all metrics as OpenMetrics text, of type [`CONTENT_TYPE`](super::CONTENT_TYPE).
    #[must_use]
    pub fn render(&self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Totals::of(self)));
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut text, &registry);
        text
    }
}

/// The sums of the counters of all shards.
#[derive(Debug)]
struct Totals {
    started: SystemTime,
    global: GlobalMetrics,
    ticket_key_since: Option<UnixTime>,
    open: u64,
    accepted: u64,
    received: u64,
    sent: u64,
    retried: u64,
    early_data_rejected: u64,
    /// Early data forwarded before the handshake was complete, and after it.
    early_data_forwarded: [u64; 2],
    early_data_abandoned: u64,
    refused: Vec<u64>,
    accept_failed: Vec<u64>,
    backend_failed: Vec<u64>,
    handshakes: Vec<u64>,
    failures: Vec<u64>,
    handshake_duration: HistogramTotals,
    backend_connect_duration: HistogramTotals,
}

impl Totals {
    fn of(metrics: &Metrics) -> Self {
        let shards = &metrics.shards;
        let sum = |count: fn(&Shard) -> u64| shards.iter().map(|shard| count(shard)).sum();
        let durations = |of: fn(&Shard) -> &Histogram| {
            let mut total = HistogramTotals::default();
            shards.iter().for_each(|shard| of(shard).add_to(&mut total));
            total
        };
        Self {
            started: metrics.started,
            global: metrics.global().clone(),
            ticket_key_since: metrics.ticket_key_since(),
            open: metrics.open_connections(),
            accepted: sum(|shard| shard.accepted.get()),
            received: sum(|shard| shard.received.get()),
            sent: sum(|shard| shard.sent.get()),
            retried: sum(|shard| shard.retried.get()),
            early_data_rejected: sum(|shard| shard.early_data_rejected.get()),
            early_data_forwarded: [
                sum(|shard| shard.early_data_at_once.get()),
                sum(|shard| shard.early_data_after_handshake.get()),
            ],
            early_data_abandoned: sum(|shard| shard.early_data_abandoned.get()),
            refused: sum_tables(
                ConnectionRefusal::ALL.len(),
                shards.iter().map(|shard| shard.refused.counts()),
            ),
            accept_failed: sum_tables(
                AcceptFailure::ALL.len(),
                shards.iter().map(|shard| shard.accept_failed.counts()),
            ),
            backend_failed: sum_tables(
                BackendFailure::ALL.len(),
                shards.iter().map(|shard| shard.backend_failed.counts()),
            ),
            handshakes: sum_tables(
                HANDSHAKES,
                shards.iter().map(|shard| shard.handshakes.counts()),
            ),
            failures: sum_tables(FAILURES, shards.iter().map(|shard| shard.failures.counts())),
            handshake_duration: durations(|shard| &shard.handshake_duration),
            backend_connect_duration: durations(|shard| &shard.backend_connect_duration),
        }
    }
}

/// Adds the tables of all shards, slot by slot, to one table.
fn sum_tables(slots: usize, tables: impl Iterator<Item = impl Iterator<Item = u64>>) -> Vec<u64> {
    let mut total = vec![0_u64; slots];
    for table in tables {
        for (total, count) in total.iter_mut().zip(table) {
            *total = total.saturating_add(count);
        }
    }
    total
}

impl Collector for Totals {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        self.process(to)?;
        self.connections(to)?;
        self.handshakes(to)?;
        self.backends(to)?;
        self.files(to)
    }
}

impl Totals {
    fn process(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        to.encode_descriptor("tercel_build", "Version of the program.", None, MetricType::Info)?
            .encode_info(&version)?;
        gauge(
            to,
            ("process_start_time", "Start time of the process, in seconds since the Unix epoch."),
            Some(&Unit::Seconds),
            &unix_seconds(self.started),
        )
    }

    fn connections(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counter(to, "tercel_connections_accepted", "Accepted connections.", None, self.accepted)?;
        gauge(to, ("tercel_connections_open", "Open connections."), None, &self.open)?;
        let help = "Connections refused before their handshake, by reason.";
        let names = ConnectionRefusal::ALL.iter().map(|refused| refused.name());
        by_reason(to, ("tercel_connections_refused", help), names, &self.refused)?;
        let help = "Failed accept calls, by reason.";
        let names = AcceptFailure::ALL.iter().map(|failure| failure.name());
        by_reason(to, ("tercel_accept_errors", help), names, &self.accept_failed)?;
        let (name, help) = ("tercel_client_received", "Plaintext received from clients.");
        counter(to, name, help, Some(&Unit::Bytes), self.received)?;
        let (name, help) = ("tercel_client_sent", "Plaintext sent to clients.");
        counter(to, name, help, Some(&Unit::Bytes), self.sent)
    }

    fn handshakes(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Completed handshakes, by version, suite, group and outcome.";
        let mut metric = counters(to, "tercel_handshakes", help)?;
        let (mut hits, mut misses) = (0_u64, 0_u64);
        for (combination, &count) in
            HandshakeLabels::all().zip(&self.handshakes).filter(|(_, count)| **count > 0)
        {
            let of_kind =
                if combination.outcome == HandshakeOutcome::Full { &mut misses } else { &mut hits };
            *of_kind = of_kind.saturating_add(count);
            let labels = [
                ("version", VERSIONS.get(combination.version).map_or("other", |(_, name)| name)),
                ("suite", slot_name(CipherSuite::NAMED, combination.suite, CipherSuite::name)),
                ("group", slot_name(NamedGroup::NAMED, combination.group, NamedGroup::name)),
                ("outcome", combination.outcome.name()),
            ];
            labelled(&mut metric, &labels, count)?;
        }
        let help = "Completed handshakes that resumed a session (hit) or created one (miss).";
        let mut metric = counters(to, "tercel_resumptions", help)?;
        labelled(&mut metric, &[("result", "hit")], hits)?;
        labelled(&mut metric, &[("result", "miss")], misses)?;
        let help = "Failed handshakes, by reason and by the alert sent or received.";
        let mut metric = counters(to, "tercel_handshake_failures", help)?;
        for (slot, &count) in self.failures.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (reason, alert) = (slot.checked_div(ALERTS), slot.checked_rem(ALERTS));
            let reason = reason.and_then(|reason| HandshakeFailure::ALL.get(reason));
            let alert = alert.unwrap_or_default();
            let labels = [
                ("reason", reason.map_or("other", |reason| reason.name())),
                ("alert", slot_name(AlertDescription::NAMED, alert, AlertDescription::name)),
            ];
            labelled(&mut metric, &labels, count)?;
        }
        let (name, help) = ("tercel_handshake_retries", "Handshakes with a HelloRetryRequest.");
        counter(to, name, help, None, self.retried)?;
        let (name, help) = ("tercel_early_data_rejected", "Handshakes with rejected early data.");
        counter(to, name, help, None, self.early_data_rejected)?;
        let help = "Handshakes whose early data was forwarded to a backend, by time of forwarding.";
        let mut metric = counters(to, "tercel_early_data_handed_on", help)?;
        let [at_once, after_handshake] = self.early_data_forwarded;
        labelled(&mut metric, &[("when", "at_once")], at_once)?;
        labelled(&mut metric, &[("when", "after_handshake")], after_handshake)?;
        let help = "Handshakes that failed after their early data was forwarded to a backend.";
        counter(to, "tercel_early_data_abandoned", help, None, self.early_data_abandoned)?;
        let help = "Time from accept to the end of the handshake.";
        histogram(to, "tercel_handshake_duration", help, &self.handshake_duration)
    }

    fn backends(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Failed backend connections, by reason.";
        let names = BackendFailure::ALL.iter().map(|failure| failure.name());
        by_reason(to, ("tercel_backend_failures", help), names, &self.backend_failed)?;
        let help = "Time to connect to a backend.";
        histogram(to, "tercel_backend_connect_duration", help, &self.backend_connect_duration)
    }

    fn files(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Reload attempts, by subject and result.";
        let mut metric = counters(to, "tercel_reloads", help)?;
        for what in Reload::ALL {
            let [good, failed] = self.global.reloads.get(what).copied().unwrap_or_default();
            labelled(&mut metric, &[("what", what.name()), ("result", "ok")], good)?;
            labelled(&mut metric, &[("what", what.name()), ("result", "failed")], failed)?;
        }
        let help = "End of a certificate's validity, in seconds since the Unix epoch.";
        let name = "tercel_certificate_not_after";
        let unit = Some(&Unit::Seconds);
        let mut metric = to.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for each in &self.global.certificates {
            let labels = [("name", each.name.as_str()), ("file", each.file.as_str())];
            metric.encode_family(&labels)?.encode_gauge(&each.not_after)?;
        }
        if let Some(since) = self.ticket_key_since {
            let age = UnixTime::now().as_secs().saturating_sub(since.as_secs());
            let help = "Time since the current ticket key began to encrypt tickets.";
            gauge(to, ("tercel_ticket_key_age", help), unit, &age)?;
        }
        Ok(())
    }
}

fn counters<'a>(
    to: &'a mut DescriptorEncoder<'_>,
    name: &'a str,
    help: &str,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    to.encode_descriptor(name, help, None, MetricType::Counter)
}

fn labelled(metric: &mut MetricEncoder<'_>, labels: &[(&str, &str)], count: u64) -> fmt::Result {
    metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)
}

fn by_reason(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    reasons: impl Iterator<Item = &'static str>,
    counts: &[u64],
) -> fmt::Result {
    let mut metric = counters(to, name, help)?;
    for (reason, &count) in reasons.zip(counts) {
        labelled(&mut metric, &[("reason", reason)], count)?;
    }
    Ok(())
}

fn counter(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    count: u64,
) -> fmt::Result {
    to.encode_descriptor(name, help, unit, MetricType::Counter)?
        .encode_counter::<NoLabelSet, _, u64>(&count, None)
}

fn gauge(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    unit: Option<&Unit>,
    value: &impl EncodeGaugeValue,
) -> fmt::Result {
    to.encode_descriptor(name, help, unit, MetricType::Gauge)?.encode_gauge(value)
}

fn histogram(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    observed: &HistogramTotals,
) -> fmt::Result {
    let bounds = BOUNDS.iter().map(|(_, seconds)| *seconds).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(observed.buckets).collect();
    let count = observed.buckets.iter().sum();
    let sum = std::time::Duration::from_nanos(observed.nanoseconds).as_secs_f64();
    to.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?
        .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
}
