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
use tercel::crypto::{rejected_rsa_signatures, self_tests};
use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, CipherSuite, NamedGroup};
use tercel_fleet::Fleet;

use crate::observability::logs;

use super::histogram::{BOUNDS, Histogram};
use super::labels::{
    ALERTS, AcceptFailure, BackendFailure, ConnectionRefusal, EchResult, HandshakeFailure,
    HandshakeOutcome, Reload, VERSIONS, slot_name,
};
use super::shard::{HandshakeLabels, Shard};
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

/// The values at the time of a scrape.
#[derive(Debug)]
struct Totals {
    started: SystemTime,
    global: GlobalMetrics,
    ticket_key_since: Option<UnixTime>,
    fleet: Option<Fleet>,
    open: u64,
    rejected_signatures: u64,
    /// The primitives with a self-test, and whether it has failed.
    self_tests: Vec<(&'static str, bool)>,
    dropped_log_lines: u64,
    /// The sum of all shards.
    sum: Box<Shard>,
}

impl Totals {
    fn of(metrics: &Metrics) -> Self {
        let sum = Box::<Shard>::default();
        metrics.shards.iter().for_each(|shard| sum.merge(shard));
        Self {
            started: metrics.started,
            global: metrics.global().clone(),
            ticket_key_since: metrics.ticket_key_since(),
            fleet: metrics.fleet(),
            open: metrics.open_connections(),
            rejected_signatures: rejected_rsa_signatures(),
            self_tests: self_tests().to_vec(),
            dropped_log_lines: logs::dropped_lines(),
            sum,
        }
    }
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
        )?;
        let help = "RSA signatures that were computed wrongly, discarded, and computed again.";
        counter(to, "tercel_rejected_signatures", help, None, self.rejected_signatures)?;
        self.self_tests(to)?;
        let help = "Log lines that could not be written.";
        counter(to, "tercel_log_lines_dropped", help, None, self.dropped_log_lines)
    }

    fn self_tests(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Whether a primitive failed its self-test, so that AWS-LC computes it: 1, or 0.";
        let name = "tercel_self_test_failed";
        let mut metric = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (primitive, has_failed) in &self.self_tests {
            let labels = [("primitive", *primitive)];
            metric.encode_family(&labels)?.encode_gauge(&u64::from(*has_failed))?;
        }
        Ok(())
    }

    fn connections(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counter(
            to,
            "tercel_connections_accepted",
            "Accepted connections.",
            None,
            self.sum.accepted.get(),
        )?;
        gauge(to, ("tercel_connections_open", "Open connections."), None, &self.open)?;
        let help = "Connections refused before their handshake, by reason.";
        let names = ConnectionRefusal::ALL.iter().map(|refused| refused.name());
        by_reason(to, ("tercel_connections_refused", help), names, self.sum.refused.counts())?;
        let help = "Failed accept calls, by reason.";
        let names = AcceptFailure::ALL.iter().map(|failure| failure.name());
        by_reason(to, ("tercel_accept_errors", help), names, self.sum.accept_failed.counts())?;
        let (name, help) = ("tercel_client_received", "Plaintext received from clients.");
        counter(to, name, help, Some(&Unit::Bytes), self.sum.received.get())?;
        let (name, help) = ("tercel_client_sent", "Plaintext sent to clients.");
        counter(to, name, help, Some(&Unit::Bytes), self.sum.sent.get())?;
        let (name, help) = ("tercel_passthrough_connections", "Connections relayed without TLS.");
        counter(to, name, help, None, self.sum.passthrough.get())?;
        let (name, help) = ("tercel_passthrough_received", "Received on passthrough connections.");
        counter(to, name, help, Some(&Unit::Bytes), self.sum.passthrough_received.get())?;
        let (name, help) = ("tercel_passthrough_sent", "Sent on passthrough connections.");
        counter(to, name, help, Some(&Unit::Bytes), self.sum.passthrough_sent.get())
    }

    fn handshakes(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Completed handshakes, by version, suite, group and outcome.";
        let mut metric = counters(to, "tercel_handshakes", help)?;
        let (mut hits, mut misses) = (0_u64, 0_u64);
        for (combination, count) in
            HandshakeLabels::all().zip(self.sum.handshakes.counts()).filter(|(_, count)| *count > 0)
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
        for (slot, count) in self.sum.failures.counts().enumerate().filter(|(_, count)| *count > 0)
        {
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
        counter(to, name, help, None, self.sum.retried.get())?;
        let (name, help) = ("tercel_early_data_rejected", "Handshakes with rejected early data.");
        counter(to, name, help, None, self.sum.early_data_rejected.get())?;
        let help = "Handshakes whose early data was forwarded to a backend, by time of forwarding.";
        let mut metric = counters(to, "tercel_early_data_handed_on", help)?;
        let after_handshake = self.sum.early_data_after_handshake.get();
        labelled(&mut metric, &[("when", "at_once")], self.sum.early_data_at_once.get())?;
        labelled(&mut metric, &[("when", "after_handshake")], after_handshake)?;
        let help = "Handshakes that failed after their early data was forwarded to a backend.";
        counter(
            to,
            "tercel_early_data_abandoned",
            help,
            None,
            self.sum.early_data_abandoned.get(),
        )?;
        let help = "Handshakes with Encrypted ClientHello, by result.";
        let mut metric = counters(to, "tercel_ech", help)?;
        for (result, count) in EchResult::ALL.iter().zip(self.sum.ech.counts()) {
            labelled(&mut metric, &[("result", result.name())], count)?;
        }
        let help = "Time from accept to the end of the handshake.";
        histogram(to, "tercel_handshake_duration", help, &self.sum.handshake_duration)
    }

    fn backends(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Failed backend connections, by reason.";
        let names = BackendFailure::ALL.iter().map(|failure| failure.name());
        by_reason(to, ("tercel_backend_failures", help), names, self.sum.backend_failed.counts())?;
        let help = "Time to connect to a backend.";
        histogram(to, "tercel_backend_connect_duration", help, &self.sum.backend_connect_duration)
    }

    fn files(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Reload attempts, by subject and result.";
        let mut metric = counters(to, "tercel_reloads", help)?;
        for what in Reload::ALL {
            let [mut good, mut failed] = self.global.reloads.get(what).copied().unwrap_or_default();
            if let (Reload::EchKeys, Some(fleet)) = (what, &self.fleet) {
                let counts = fleet.counts();
                good = good.saturating_add(counts.ech_keys_changed);
                failed = failed.saturating_add(counts.ech_keys_refused);
            }
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
        self.shared(to)?;
        let fleet = self.fleet.as_ref();
        let shared_since = fleet.and_then(Fleet::ech_key_since);
        if let Some(since) = self.global.ech_key_since.or(shared_since) {
            let age = UnixTime::now().as_secs().saturating_sub(since.as_secs());
            let help = "Age of the newest key for Encrypted ClientHello that clients are sent.";
            gauge(to, ("tercel_ech_key_age", help), unit, &age)?;
        }
        Ok(())
    }
}

impl Totals {
    /// The state of the fleet.
    fn shared(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(fleet) = &self.fleet else { return Ok(()) };
        if fleet.has_store() {
            let help = "Whether the store is connected: 1, or 0.";
            gauge(to, ("tercel_store_connected", help), None, &u64::from(fleet.state().store))?;
        }
        if fleet.ech_keys().is_some() {
            let help = "Number of the shared set of ECH keys in use, 0 without one.";
            let number = fleet.ech_key_set().unwrap_or_default();
            gauge(to, ("tercel_ech_key_set", help), None, &number)?;
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
    counts: impl Iterator<Item = u64>,
) -> fmt::Result {
    let mut metric = counters(to, name, help)?;
    for (reason, count) in reasons.zip(counts) {
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
    observed: &Histogram,
) -> fmt::Result {
    let bounds = BOUNDS.iter().map(|(_, seconds)| *seconds).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(observed.buckets()).collect();
    let count = buckets.iter().map(|(_, count)| count).sum();
    let sum = observed.sum().as_secs_f64();
    to.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?
        .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
}

#[test]
fn a_failed_self_test_is_a_series_of_its_primitive() {
    let self_tests = vec![("one", false), ("other", true)];
    let totals = Totals { self_tests, ..Totals::of(&Metrics::new(1)) };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(totals));
    let mut text = String::new();
    text::encode(&mut text, &registry).unwrap();
    let series = |line: &str| text.lines().any(|found| found == line);
    assert!(series("tercel_self_test_failed{primitive=\"one\"} 0"), "{text}");
    assert!(series("tercel_self_test_failed{primitive=\"other\"} 1"), "{text}");
}
