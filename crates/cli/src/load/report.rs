//! The report of a run: text for people. [`super::report_json`] has the JSON for
//! programs.

use std::fmt::Write as _;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::options::{Mode, Options};
use super::statistics::{Negotiated, Statistics};
use crate::negotiated::version_name;

/// One measurement of a server.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) target: String,
    pub(crate) round: usize,
    pub(crate) statistics: Statistics,
}

/// The settings of all runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunSettings {
    pub(crate) mode: Mode,
    pub(crate) seconds: Duration,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) rate: Option<f64>,
    /// Whether connections are made over QUIC.
    pub(crate) http3: bool,
}

impl RunSettings {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            mode: options.mode(),
            seconds: options.seconds,
            connections: options.connections.get(),
            threads: options.threads(),
            rate: options.rate,
            http3: options.http3,
        }
    }

    /// The result of a run: throughput of content, open connections, or operations per second.
    fn figure(&self, statistics: &Statistics) -> f64 {
        let seconds = self.seconds.as_secs_f64();
        match self.mode {
            Mode::Bulk | Mode::Upload(_) => to_f64(statistics.bytes) / seconds / MEGABYTE,
            Mode::Idle(_) => to_f64(statistics.done),
            Mode::Full | Mode::Resumed | Mode::Requests => to_f64(statistics.done) / seconds,
        }
    }

    fn unit(&self) -> &'static str {
        match self.mode {
            Mode::Bulk | Mode::Upload(_) => "MB/s",
            Mode::Idle(_) => "connections",
            Mode::Full | Mode::Resumed | Mode::Requests => "per second",
        }
    }

    /// The text report of one run.
    pub(crate) fn text(&self, run: &Run) -> String {
        let Run { target, statistics, .. } = run;
        let mut rows = Vec::new();
        let figure = self.figure(statistics);
        let seconds = self.seconds.as_secs_f64();
        let units = self.mode.units();
        match self.mode {
            Mode::Idle(asked) => {
                rows.push(("open", format!("{} of {asked} after {seconds} s", statistics.done)));
            }
            Mode::Bulk | Mode::Upload(_) => {
                rows.push(("throughput", format!("{figure:.1} MB/s (10^6 bytes)")));
                rows.push((units, format!("{} in {seconds} s", statistics.done)));
            }
            _ => rows.push((
                units,
                format!("{figure:.1} per second, {} in {seconds} s", statistics.done),
            )),
        }
        if let Some(rate) = self.rate {
            rows.push(("target rate", format!("{rate} per second")));
            if statistics.not_started > 0 {
                let never = statistics.not_started;
                rows.push(("not started", format!("{never}, for lack of a free connection")));
            }
        }
        if !statistics.latency.is_empty() {
            rows.push(("latency", times(&statistics.latency)));
        }
        if !statistics.timer_lateness.is_empty() {
            rows.push(("timer lateness", times(&statistics.timer_lateness)));
        }
        let (handshakes, resumed) = statistics.handshakes();
        if self.mode == Mode::Resumed {
            rows.push(("resumed", format!("{resumed} of all {handshakes} handshakes")));
        }
        for (negotiated, count) in &statistics.negotiated {
            rows.push(("negotiated", format!("{} ({count})", describe(negotiated))));
        }
        for (kind, count) in &statistics.errors {
            rows.push(("failed", format!("{count} × {kind}")));
        }
        let Self { connections, threads, .. } = self;
        let transport = if self.http3 { ", QUIC" } else { "" };
        let mut text =
            format!("{target}  {connections} connections, {threads} threads{transport}\n");
        let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
        for (key, value) in rows {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {key:width$}  {value}");
        }
        text
    }

    /// A comparison of the servers: median, range, and the ratio to the first server.
    pub(crate) fn summary(&self, runs: &[Run]) -> String {
        let mut targets: Vec<&str> = Vec::new();
        for run in runs {
            if !targets.contains(&run.target.as_str()) {
                targets.push(&run.target);
            }
        }
        let mut text = String::new();
        let mut first = None;
        for target in targets {
            let of_target = runs.iter().filter(|run| run.target == target);
            let figures = Spread::of(of_target.map(|run| self.figure(&run.statistics)));
            let base = *first.get_or_insert(figures.median);
            let Spread { median, least, most } = figures;
            let _ = writeln!(
                text,
                "{target}  {median:.1} {} ({least:.1} to {most:.1}), {:.3} x first",
                self.unit(),
                median / base
            );
        }
        text
    }
}

/// Median and range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        let median = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
        Self { median, least: at(0), most: at(last) }
    }
}

fn times(histogram: &Histogram<u64>) -> String {
    let parts = QUANTILES
        .iter()
        .map(|(name, quantile)| (*name, histogram.value_at_quantile(*quantile)))
        .chain([("max", histogram.max())])
        .map(|(name, value)| format!("{name} {:.3} ms", to_f64(value) / 1_000_000.0));
    parts.collect::<Vec<_>>().join(", ")
}

pub(crate) fn describe(negotiated: &Negotiated) -> String {
    let Negotiated { version, suite, group, resumed } = negotiated;
    let group = group.map(|group| format!(", {group}")).unwrap_or_default();
    let resumed = if *resumed { ", resumed" } else { "" };
    format!("{}, {suite}{group}{resumed}", version_name(*version))
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn to_f64(value: u64) -> f64 {
    value as f64
}

const QUANTILES: [(&str, f64); 4] = [("P50", 0.5), ("P90", 0.9), ("P99", 0.99), ("P99.9", 0.999)];

/// A megabyte has 10^6 bytes, as is usual for networks.
pub(crate) const MEGABYTE: f64 = 1_000_000.0;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn settings(mode: Mode) -> RunSettings {
        let seconds = Duration::from_secs(2);
        RunSettings { mode, seconds, connections: 4, threads: 2, rate: None, http3: false }
    }

    /// A run with operations of a millisecond each.
    pub(in crate::load) fn run(target: &str, done: u64) -> Run {
        let mut statistics = Statistics::new();
        for _ in 0..done {
            statistics.done(Duration::from_millis(1));
        }
        statistics.bytes = done * 2_000_000;
        Run { target: target.to_owned(), round: 1, statistics }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        let spread = Spread::of([4.0, 1.0, 2.0, 100.0].into_iter());
        assert_eq!(spread, Spread { median: 3.0, least: 1.0, most: 100.0 });
        assert_eq!(Spread::of([7.0, 1.0, 3.0].into_iter()).median, 3.0);
        assert!(Spread::of(std::iter::empty()).median.is_nan());
    }

    #[test]
    fn each_mode_has_its_figure() {
        let statistics = run("x", 10).statistics;
        assert_eq!(settings(Mode::Full).figure(&statistics), 5.0);
        assert_eq!(settings(Mode::Bulk).figure(&statistics), 10.0);
        assert_eq!(settings(Mode::Idle(12)).figure(&statistics), 10.0);
    }

    #[test]
    fn servers_are_compared_with_the_first() {
        let runs = [run("a", 10), run("b", 30), run("a", 30), run("b", 50)];
        let summary = settings(Mode::Requests).summary(&runs);
        let lines: Vec<&str> = summary.lines().collect();
        assert_eq!(
            lines,
            [
                "a  10.0 per second (5.0 to 15.0), 1.000 x first",
                "b  20.0 per second (15.0 to 25.0), 2.000 x first",
            ]
        );
    }

    #[test]
    fn failures_are_shown() {
        let mut failed = run("a", 1);
        failed.statistics.error("connect: timed out");
        let settings = settings(Mode::Full);
        assert!(settings.text(&failed).contains("1 × connect: timed out"));
    }
}
