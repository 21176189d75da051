//! The sums under their public names.
//!
//! Names follow Prometheus' conventions: `tercel_` before, the unit behind, `_total` after counters. A combination of labels
//! that has not been counted yet is left out where there are hundreds, and stands as 0 where there are few.
//!
//! Must not know: who counts, and who asks. Next: [`super::shard`].

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

use super::histogram::{BOUNDS, Durations, Observed};
use super::labels::{
    ALERTS, AcceptFailure, BackendFailure, Failure, Outcome, Refused, Reload, VERSIONS, place_name,
};
use super::shard::{FAILURES, HANDSHAKES, Handshake, Shard};
use super::{Metrics, Rare, unix_seconds};

/// Adds up and writes down.
pub(super) fn render(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Sums::of(metrics)));
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = text::encode(&mut text, &registry);
    text
}

/// All shards together, at one moment.
#[derive(Debug)]
struct Sums {
    started: SystemTime,
    rare: Rare,
    ticket_key_since: Option<UnixTime>,
    open: u64,
    accepted: u64,
    received: u64,
    sent: u64,
    retried: u64,
    early_data_rejected: u64,
    /// At once, and after the handshake.
    early_data_handed_on: [u64; 2],
    early_data_abandoned: u64,
    refused: Vec<u64>,
    accept_failed: Vec<u64>,
    backend_failed: Vec<u64>,
    handshakes: Vec<u64>,
    failures: Vec<u64>,
    handshake_duration: Observed,
    backend_connect_duration: Observed,
}

impl Sums {
    fn of(metrics: &Metrics) -> Self {
        let shards = &metrics.shards;
        let sum = |count: fn(&Shard) -> u64| shards.iter().map(|shard| count(shard)).sum();
        let durations = |of: fn(&Shard) -> &Durations| {
            let mut total = Observed::default();
            shards.iter().for_each(|shard| of(shard).add_to(&mut total));
            total
        };
        Self {
            started: metrics.started,
            rare: metrics.rare().clone(),
            ticket_key_since: metrics.ticket_key_since(),
            open: metrics.open_connections(),
            accepted: sum(|shard| shard.accepted.get()),
            received: sum(|shard| shard.received.get()),
            sent: sum(|shard| shard.sent.get()),
            retried: sum(|shard| shard.retried.get()),
            early_data_rejected: sum(|shard| shard.early_data_rejected.get()),
            early_data_handed_on: [
                sum(|shard| shard.early_data_at_once.get()),
                sum(|shard| shard.early_data_kept.get()),
            ],
            early_data_abandoned: sum(|shard| shard.early_data_abandoned.get()),
            refused: add(Refused::ALL.len(), shards.iter().map(|shard| shard.refused.counts())),
            accept_failed: add(
                AcceptFailure::ALL.len(),
                shards.iter().map(|shard| shard.accept_failed.counts()),
            ),
            backend_failed: add(
                BackendFailure::ALL.len(),
                shards.iter().map(|shard| shard.backend_failed.counts()),
            ),
            handshakes: add(HANDSHAKES, shards.iter().map(|shard| shard.handshakes.counts())),
            failures: add(FAILURES, shards.iter().map(|shard| shard.failures.counts())),
            handshake_duration: durations(|shard| &shard.handshake_duration),
            backend_connect_duration: durations(|shard| &shard.backend_connect_duration),
        }
    }
}

/// The tables of all shards, place by place.
fn add(places: usize, tables: impl Iterator<Item = impl Iterator<Item = u64>>) -> Vec<u64> {
    let mut total = vec![0_u64; places];
    for table in tables {
        for (total, count) in total.iter_mut().zip(table) {
            *total = total.saturating_add(count);
        }
    }
    total
}

impl Collector for Sums {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        self.process(to)?;
        self.connections(to)?;
        self.handshakes(to)?;
        self.backends(to)?;
        self.files(to)
    }
}

impl Sums {
    fn process(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        to.encode_descriptor("tercel_build", "The program that runs.", None, MetricType::Info)?
            .encode_info(&version)?;
        gauge(
            to,
            ("process_start_time", "When this process started, in seconds since 1970."),
            Some(&Unit::Seconds),
            &unix_seconds(self.started),
        )
    }

    fn connections(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counter(to, "tercel_connections_accepted", "Connections accepted.", None, self.accepted)?;
        gauge(to, ("tercel_connections_open", "Connections open now."), None, &self.open)?;
        let help = "Connections closed before their handshake, by reason.";
        let names = Refused::ALL.iter().map(|refused| refused.name());
        by_reason(to, ("tercel_connections_refused", help), names, &self.refused)?;
        let help = "Calls of accept that failed, by reason.";
        let names = AcceptFailure::ALL.iter().map(|failure| failure.name());
        by_reason(to, ("tercel_accept_errors", help), names, &self.accept_failed)?;
        let (name, help) = ("tercel_client_received", "Plaintext that came from clients.");
        counter(to, name, help, Some(&Unit::Bytes), self.received)?;
        let (name, help) = ("tercel_client_sent", "Plaintext that went to clients.");
        counter(to, name, help, Some(&Unit::Bytes), self.sent)
    }

    fn handshakes(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Handshakes completed, by version, suite, group and outcome.";
        let mut metric = counters(to, "tercel_handshakes", help)?;
        let (mut hits, mut misses) = (0_u64, 0_u64);
        for (cell, &count) in
            Handshake::all().zip(&self.handshakes).filter(|(_, count)| **count > 0)
        {
            let of_kind = if cell.outcome == Outcome::Full { &mut misses } else { &mut hits };
            *of_kind = of_kind.saturating_add(count);
            let labels = [
                ("version", VERSIONS.get(cell.version).map_or("other", |(_, name)| name)),
                ("suite", place_name(CipherSuite::NAMED, cell.suite, CipherSuite::name)),
                ("group", place_name(NamedGroup::NAMED, cell.group, NamedGroup::name)),
                ("outcome", cell.outcome.name()),
            ];
            labelled(&mut metric, &labels, count)?;
        }
        let help = "Handshakes that resumed a session (hit) or made a new one (miss).";
        let mut metric = counters(to, "tercel_resumptions", help)?;
        labelled(&mut metric, &[("result", "hit")], hits)?;
        labelled(&mut metric, &[("result", "miss")], misses)?;
        let help = "Handshakes that failed, by reason and by the alert that was sent or received.";
        let mut metric = counters(to, "tercel_handshake_failures", help)?;
        for (place, &count) in self.failures.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (reason, alert) = (place.checked_div(ALERTS), place.checked_rem(ALERTS));
            let reason = reason.and_then(|reason| Failure::ALL.get(reason));
            let alert = alert.unwrap_or_default();
            let labels = [
                ("reason", reason.map_or("other", |reason| reason.name())),
                ("alert", place_name(AlertDescription::NAMED, alert, AlertDescription::name)),
            ];
            labelled(&mut metric, &labels, count)?;
        }
        let (name, help) =
            ("tercel_handshake_retries", "Handshakes that took a HelloRetryRequest.");
        counter(to, name, help, None, self.retried)?;
        let (name, help) =
            ("tercel_early_data_rejected", "Handshakes whose early data was rejected.");
        counter(to, name, help, None, self.early_data_rejected)?;
        let help = "Handshakes whose early data went to a backend, by when it did.";
        let mut metric = counters(to, "tercel_early_data_handed_on", help)?;
        let [at_once, kept] = self.early_data_handed_on;
        labelled(&mut metric, &[("when", "at_once")], at_once)?;
        labelled(&mut metric, &[("when", "after_handshake")], kept)?;
        let help = "Handshakes that failed after their early data had gone to a backend.";
        counter(to, "tercel_early_data_abandoned", help, None, self.early_data_abandoned)?;
        let help = "From a connection's acceptance to the end of its handshake.";
        histogram(to, "tercel_handshake_duration", help, &self.handshake_duration)
    }

    fn backends(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Connections to backends that failed, by reason.";
        let names = BackendFailure::ALL.iter().map(|failure| failure.name());
        by_reason(to, ("tercel_backend_failures", help), names, &self.backend_failed)?;
        let help = "From the start of a connection to a backend until it stands.";
        histogram(to, "tercel_backend_connect_duration", help, &self.backend_connect_duration)
    }

    fn files(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Attempts to read something anew, by what and by result.";
        let mut metric = counters(to, "tercel_reloads", help)?;
        for what in Reload::ALL {
            let [good, failed] = self.rare.reloads.get(what).copied().unwrap_or_default();
            labelled(&mut metric, &[("what", what.name()), ("result", "ok")], good)?;
            labelled(&mut metric, &[("what", what.name()), ("result", "failed")], failed)?;
        }
        let help = "The last moment at which a certificate is valid, in seconds since 1970.";
        let name = "tercel_certificate_not_after";
        let unit = Some(&Unit::Seconds);
        let mut metric = to.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for each in &self.rare.certificates {
            let labels = [("name", each.name.as_str()), ("file", each.file.as_str())];
            metric.encode_family(&labels)?.encode_gauge(&each.not_after)?;
        }
        if let Some(since) = self.ticket_key_since {
            let age = UnixTime::now().as_secs().saturating_sub(since.as_secs());
            let help = "For how long the ticket key in use has been sealing.";
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
    observed: &Observed,
) -> fmt::Result {
    let bounds = BOUNDS.iter().map(|(_, seconds)| *seconds).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(observed.buckets).collect();
    let count = observed.buckets.iter().sum();
    let sum = std::time::Duration::from_nanos(observed.nanoseconds).as_secs_f64();
    to.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?
        .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
}
