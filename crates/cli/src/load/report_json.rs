//! The report of a run as JSON. The keys are stable.

use std::collections::BTreeMap;

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::report::{MEGABYTE, Run, RunSettings, describe, to_f64};

/// The settings and the results of all runs.
#[derive(Debug, Serialize)]
struct JsonReport<'a> {
    mode: &'static str,
    seconds: Decimal,
    connections: usize,
    threads: usize,
    rate: Option<Decimal>,
    /// `None` over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    runs: Vec<JsonRun<'a>>,
}

/// The results of a run.
#[derive(Debug, Serialize)]
struct JsonRun<'a> {
    target: &'a str,
    round: usize,
    done: u64,
    per_second: Decimal,
    bytes: u64,
    megabytes_per_second: Decimal,
    latency: Percentiles,
    own_lateness: Percentiles,
    never_begun: u64,
    handshakes: u64,
    handshakes_resumed: u64,
    agreed: Vec<JsonNegotiated>,
    failed: u64,
    errors: &'a BTreeMap<String, u64>,
}

/// A set of negotiated parameters, and the number of handshakes that had it.
#[derive(Debug, Serialize)]
struct JsonNegotiated {
    what: String,
    count: u64,
}

/// A distribution of times, in microseconds.
#[derive(Debug, Serialize)]
struct Percentiles {
    count: u64,
    #[serde(flatten)]
    times: Option<Times>,
}

#[derive(Debug, Serialize)]
struct Times {
    mean: Decimal,
    p50: Decimal,
    p90: Decimal,
    p99: Decimal,
    #[serde(rename = "p99.9")]
    p99_9: Decimal,
    max: Decimal,
}

/// A number with three decimals; null if it is not finite.
#[derive(Clone, Copy, Debug)]
struct Decimal(f64);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let number = RawValue::from_string(format!("{:.3}", self.0)).map_err(S::Error::custom)?;
        number.serialize(serializer)
    }
}

impl RunSettings {
    /// The report as one JSON object.
    pub(crate) fn json(&self, runs: &[Run]) -> Result<String> {
        Ok(serde_json::to_string(&JsonReport {
            mode: self.mode.name(),
            seconds: Decimal(self.seconds.as_secs_f64()),
            connections: self.connections,
            threads: self.threads,
            rate: self.rate.map(Decimal),
            transport: self.http3.then_some("QUIC"),
            runs: runs.iter().map(|run| self.json_of(run)).collect(),
        })?)
    }

    fn json_of<'a>(&self, run: &'a Run) -> JsonRun<'a> {
        let Run { target, round, statistics } = run;
        let (handshakes, handshakes_resumed) = statistics.handshakes();
        let seconds = self.seconds.as_secs_f64();
        let negotiated = statistics.negotiated.iter();
        JsonRun {
            target,
            round: *round,
            done: statistics.done,
            per_second: Decimal(to_f64(statistics.done) / seconds),
            bytes: statistics.bytes,
            megabytes_per_second: Decimal(to_f64(statistics.bytes) / seconds / MEGABYTE),
            latency: Percentiles::of(&statistics.latency),
            own_lateness: Percentiles::of(&statistics.timer_lateness),
            never_begun: statistics.not_started,
            handshakes,
            handshakes_resumed,
            agreed: negotiated
                .map(|(what, count)| JsonNegotiated { what: describe(what), count: *count })
                .collect(),
            failed: statistics.failed(),
            errors: &statistics.errors,
        }
    }
}

impl Percentiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let micros = |nanoseconds: u64| Decimal(to_f64(nanoseconds) / 1000.0);
        let quantile = |quantile| micros(histogram.value_at_quantile(quantile));
        let times = (!histogram.is_empty()).then(|| Times {
            mean: Decimal(histogram.mean() / 1000.0),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            max: micros(histogram.max()),
        });
        Self { count: histogram.len(), times }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::options::Mode;
    use crate::load::report::tests::run;
    use crate::load::statistics::Negotiated;
    use std::time::Duration;
    use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};

    #[test]
    fn the_keys_and_the_numbers_have_a_fixed_form() {
        let mut first = run("https://a/", 3);
        first.statistics.error("connect: timed \"out\"");
        first.statistics.negotiated(Negotiated {
            version: ProtocolVersion::TLS1_3,
            suite: CipherSuite::TLS_AES_128_GCM_SHA256,
            group: Some(NamedGroup::X25519),
            resumed: false,
        });
        let settings = RunSettings {
            mode: Mode::Requests,
            seconds: Duration::from_secs(2),
            connections: 4,
            threads: 2,
            rate: Some(40.0),
            http3: false,
        };
        let expected = [
            r#"{"mode":"requests","seconds":2.000,"connections":4,"threads":2,"rate":40.000,"runs":["#,
            r#"{"target":"https://a/","round":1,"done":3,"per_second":1.500,"bytes":6000000,"#,
            r#""megabytes_per_second":3.000,"latency":{"count":3,"mean":1000.192,"p50":1000.447,"#,
            r#""p90":1000.447,"p99":1000.447,"p99.9":1000.447,"max":1000.447},"own_lateness":{"count":0},"#,
            r#""never_begun":0,"handshakes":1,"handshakes_resumed":0,"agreed":[{"what":"#,
            r#""TLS 1.3, TLS_AES_128_GCM_SHA256, x25519","count":1}],"failed":1,"#,
            r#""errors":{"connect: timed \"out\"":1}},"#,
            r#"{"target":"b","round":1,"done":0,"per_second":0.000,"bytes":0,"megabytes_per_second":0.000,"#,
            r#""latency":{"count":0},"own_lateness":{"count":0},"never_begun":0,"handshakes":0,"#,
            r#""handshakes_resumed":0,"agreed":[],"failed":0,"errors":{}}]}"#,
        ];
        let runs = [first, run("b", 0)];
        assert_eq!(settings.json(&runs).unwrap(), expected.concat());
        let unlimited = RunSettings { rate: None, ..settings }.json(&runs).unwrap();
        assert!(unlimited.contains(r#""rate":null"#), "{unlimited}");
        let quic = RunSettings { http3: true, ..settings }.json(&runs).unwrap();
        assert!(quic.contains(r#","rate":40.000,"transport":"QUIC","runs":["#), "{quic}");
    }

    #[test]
    fn numbers_that_are_not_finite_are_null() {
        assert_eq!(serde_json::to_string(&Decimal(f64::NAN)).unwrap(), "null");
        assert_eq!(serde_json::to_string(&Decimal(-1.0)).unwrap(), "-1.000");
    }
}
