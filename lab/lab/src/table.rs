//! The table in the terminal.
//!
//! Must not know: how figures came about. Next: `report.rs`.

use std::fmt::Write;

use lab_scenario::row::threads;
use lab_scenario::{Distribution, Row, Task, Unit};

use crate::published;
use crate::report::{Figure, Report, RowReport};

/// The whole report as text.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for peer in &report.peers {
        let line = match (&peer.about, &peer.failure) {
            (Some(about), None) => format!(
                "{} {}, {}; {}; {}",
                about.library, about.version, about.crypto, about.interface, about.build
            ),
            (_, Some(failure)) => format!("takes no part: {}", first_line(failure)),
            (None, None) => "takes no part".to_owned(),
        };
        _ = writeln!(text, "{:<12} {line}", peer.name);
    }
    let machine = &report.machine;
    _ = writeln!(
        text,
        "on {}, {} CPUs{}, {}, allocator: {}",
        machine.cpu,
        machine.cpus,
        if machine.virtual_machine { " of a virtual machine" } else { "" },
        machine.system,
        report.settings.allocator,
    );
    text.push_str(&published::text(report));
    let mut section = "";
    for row in &report.rows {
        if section != row.row.section {
            section = &row.row.section;
            _ = writeln!(text, "\n{section}");
        }
        text.push_str(&render_row(row));
    }
    let noisy = report.noisy_rows();
    if noisy > 0 {
        _ = writeln!(
            text,
            "\n{noisy} of {} rows are noisy (!): other programs ran meanwhile",
            report.rows.len()
        );
    }
    text
}

/// A row: its title, then a line for each side.
#[must_use]
pub fn render_row(row: &RowReport) -> String {
    let mut text = format!(
        "  {}  ({}, {} rounds{})\n",
        row.title,
        row.row.id,
        row.rounds,
        if row.noisy { ", noisy !" } else { "" }
    );
    for side in &row.sides {
        let figures: Vec<_> =
            side.peers.iter().map(|figure| figure_text(row, &side.side, figure)).collect();
        _ = writeln!(text, "    {:<8} {}", side.side, figures.join("  "));
    }
    for (peer, sides) in &row.distributions {
        for (side, distribution) in sides {
            let names = PERCENTILES.iter().map(|(name, _)| *name).chain(["max"]);
            let told: Vec<_> = names
                .zip(percentiles(distribution))
                .map(|(name, time)| format!("{name} {time}"))
                .collect();
            _ = writeln!(text, "    {peer}, {side}: {}", told.join(", "));
        }
    }
    for (peer, side, value) in told_bytes(row) {
        _ = writeln!(text, "    {peer}, {side}: {}", rate(row, side, value));
    }
    for (peer, why) in &row.failures {
        _ = writeln!(text, "    {peer} FAILED: {}", first_line(why));
    }
    for (peer, why) in &row.unable {
        _ = writeln!(text, "    {peer} has no way to do this: {}", first_line(why));
    }
    text
}

fn figure_text(row: &RowReport, side: &str, figure: &Figure) -> String {
    let mut text = format!("{} {}", figure.peer, rate(row, side, figure.nanoseconds));
    if row.row.task == Task::Threads {
        if let Some(scaling) = scaling(row, &figure.peer, 1e9 / figure.nanoseconds) {
            _ = write!(text, " (x{scaling:.2})");
        }
    }
    if let Some(speed) = &figure.speed {
        let interval = &speed.interval;
        _ = write!(
            text,
            " {} {:.3} [{:.3}, {:.3}]",
            speed.verdict.word(),
            interval.ratio,
            interval.low,
            interval.high
        );
    }
    if let Some(floors) = &figure.floors {
        _ = write!(text, " = {:.2} floors", floors.ratio);
    }
    text.push(';');
    text
}

/// A figure as a number of what people say: MB/s (of 2^20 bytes) for bulk, how many in a second for
/// handshakes, otherwise as it is.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn amount(row: &Row, side: &str, figure: f64) -> f64 {
    match row.unit(side) {
        Unit::Throughput => row.write_size as f64 * 1e9 / figure / f64::from(1 << 20),
        Unit::Rate => 1e9 / figure,
        _ => figure,
    }
}

/// Figures as people say them.
#[must_use]
pub fn rate(row: &RowReport, side: &str, figure: f64) -> String {
    let amount = amount(&row.row, side, figure);
    match row.row.unit(side) {
        Unit::Throughput => format!("{amount:.0} MB/s"),
        Unit::Rate => format!("{amount:.0}/s"),
        Unit::Time => time(figure),
        Unit::Bytes if figure < 1024.0 => format!("{figure:.0} B"),
        Unit::Bytes => format!("{:.2} KiB", figure / 1024.0),
        Unit::Count => format!("{figure:.1}"),
        Unit::Instructions => instructions(figure),
    }
}

/// A number of instructions, as short as it stays exact to a thousandth.
#[must_use]
pub fn instructions(count: f64) -> String {
    let (value, unit) = match count {
        count if count < 1e4 => return format!("{count:.0}"),
        count if count < 1e6 => (count / 1e3, "k"),
        count => (count / 1e6, "M"),
    };
    let digits = if value < 9.9995 { 3 } else { 1 + usize::from(value < 99.995) };
    format!("{value:.digits$} {unit}")
}

/// Nanoseconds in the unit one would say them in.
#[must_use]
pub fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        time if time < 1e3 => (time, "ns"),
        time if time < 1e6 => (time / 1e3, "µs"),
        time if time < 1e9 => (time / 1e6, "ms"),
        time => (time / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.digits$}");
    let short =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {unit}")
}

/// The percentiles that are told.
pub const PERCENTILES: [(&str, f64); 5] =
    [("P5", 0.05), ("P50", 0.5), ("P90", 0.9), ("P99", 0.99), ("P99.9", 0.999)];

/// A distribution's percentiles and its longest time, in words; a dash where too few were counted.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn percentiles(distribution: &Distribution) -> Vec<String> {
    let told = PERCENTILES.map(|(_, part)| {
        let above = (1.0 - part) * distribution.total() as f64;
        if above < 1.0 { "–".to_owned() } else { time(distribution.percentile(part)) }
    });
    told.into_iter().chain([time(distribution.max)]).collect()
}

/// A peer's handshakes in a second by threads, all threads together.
#[must_use]
pub fn rates(row: &RowReport, peer: &str) -> Vec<(usize, f64)> {
    let rate = |count: &usize| {
        let side = row.sides.iter().find(|side| side.side == threads(*count))?;
        let figure = side.peers.iter().find(|figure| figure.peer == peer)?;
        Some((*count, 1e9 / figure.nanoseconds))
    };
    row.row.threads.iter().filter_map(rate).collect()
}

/// How many times the rate of one thread this is; absent if one was not measured.
#[must_use]
pub fn scaling(row: &RowReport, peer: &str, rate: f64) -> Option<f64> {
    rates(row, peer).first().filter(|(count, _)| *count == 1).map(|(_, one)| rate / one)
}

/// What memory rows tell and do not judge: peer, what, bytes.
#[must_use]
pub fn told_bytes(row: &RowReport) -> Vec<(&str, &str, f64)> {
    let figures = row.sides.first().filter(|_| row.row.task == Task::Memory);
    let parts = figures.into_iter().flat_map(|side| &side.peers).flat_map(|figure| {
        let parts = figure.parts.iter();
        parts.map(|(name, value)| (figure.peer.as_str(), name.as_str(), *value))
    });
    parts.collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_unit() {
        let told = [0.0, 999.0, 1_000.0, 16_240.0, 2e6, 123_456_789.0, 3.5e9].map(time);
        assert_eq!(told, ["0 ns", "999 ns", "1 µs", "16.2 µs", "2 ms", "123 ms", "3.5 s"]);
    }

    #[test]
    fn instructions_are_told_to_a_thousandth() {
        let told = [990.0, 12_345.0, 250_289.0, 7_229_447.0, 12_345_678.0].map(instructions);
        assert_eq!(told, ["990", "12.35 k", "250.3 k", "7.229 M", "12.35 M"]);
    }

    #[test]
    fn a_percentile_that_few_times_lie_above_is_not_told() {
        let mut distribution = Distribution::default();
        (0..200).for_each(|_| distribution.count(1e6));
        let told = percentiles(&distribution);
        assert_eq!(told[4..], ["–".to_owned(), "1 ms".to_owned()]);
        assert_ne!(told[3], "–");
    }
}
