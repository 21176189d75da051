//! Formats of values: rates, times, sizes, percentiles, dates.

use lab_scenario::row::threads;
use lab_scenario::{Distribution, Row, Task, Unit};

use crate::report::RowReport;

/// The value in the unit of display: MB/s (of 2^20 bytes) for bulk rows, operations per second for
/// handshakes, otherwise unchanged.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub(crate) fn amount(row: &Row, side: &str, figure: f64) -> f64 {
    match row.unit(side) {
        Unit::Throughput => row.write_size as f64 * 1e9 / figure / f64::from(1 << 20),
        Unit::Rate => 1e9 / figure,
        _ => figure,
    }
}

/// A value with its unit.
#[must_use]
pub(crate) fn rate(row: &RowReport, side: &str, figure: f64) -> String {
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

/// An instruction count with four significant digits.
#[must_use]
pub(crate) fn instructions(count: f64) -> String {
    let (value, unit) = match count {
        count if count < 1e4 => return format!("{count:.0}"),
        count if count < 1e6 => (count / 1e3, "k"),
        count => (count / 1e6, "M"),
    };
    let digits = if value < 9.9995 { 3 } else { 1 + usize::from(value < 99.995) };
    format!("{value:.digits$} {unit}")
}

/// A duration with a suitable unit.
#[must_use]
pub(crate) fn time(nanoseconds: f64) -> String {
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

/// The percentiles in reports.
pub(crate) const PERCENTILES: [(&str, f64); 5] =
    [("P5", 0.05), ("P50", 0.5), ("P90", 0.9), ("P99", 0.99), ("P99.9", 0.999)];

/// The percentiles and the maximum of a distribution. A percentile with too few samples above it is
/// printed as a dash.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub(crate) fn percentiles(distribution: &Distribution) -> Vec<String> {
    let texts = PERCENTILES.map(|(_, part)| {
        let above = (1.0 - part) * distribution.total() as f64;
        if above < 1.0 { "–".to_owned() } else { time(distribution.percentile(part)) }
    });
    texts.into_iter().chain([time(distribution.max)]).collect()
}

/// The handshake rates of a peer by thread count, all threads together.
#[must_use]
pub(crate) fn rates(row: &RowReport, peer: &str) -> Vec<(usize, f64)> {
    let rate = |count: &usize| {
        let side = row.sides.iter().find(|side| side.side == threads(*count))?;
        let figure = side.peers.iter().find(|figure| figure.peer == peer)?;
        Some((*count, 1e9 / figure.nanoseconds))
    };
    row.row.threads.iter().filter_map(rate).collect()
}

/// The rate relative to one thread; absent if one thread was not measured.
#[must_use]
pub(crate) fn scaling(row: &RowReport, peer: &str, rate: f64) -> Option<f64> {
    rates(row, peer).first().filter(|(count, _)| *count == 1).map(|(_, one)| rate / one)
}

/// The values of memory rows that are not judged: peer, name, bytes.
#[must_use]
pub(crate) fn unjudged_bytes(row: &RowReport) -> Vec<(&str, &str, f64)> {
    let figures = row.sides.first().filter(|_| row.row.task == Task::Memory);
    let parts = figures.into_iter().flat_map(|side| &side.peers).flat_map(|figure| {
        let parts = figure.parts.iter();
        parts.map(|(name, value)| (figure.peer.as_str(), name.as_str(), *value))
    });
    parts.collect()
}

/// Date and time in UTC from seconds since 1970.
pub(crate) fn date(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // In this computation a year starts in March, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", of_day / 3600, of_day % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_suitable_unit() {
        let texts = [0.0, 999.0, 1_000.0, 16_240.0, 2e6, 123_456_789.0, 3.5e9].map(time);
        assert_eq!(texts, ["0 ns", "999 ns", "1 µs", "16.2 µs", "2 ms", "123 ms", "3.5 s"]);
    }

    #[test]
    fn instructions_have_four_significant_digits() {
        let texts = [990.0, 12_345.0, 250_289.0, 7_229_447.0, 12_345_678.0].map(instructions);
        assert_eq!(texts, ["990", "12.35 k", "250.3 k", "7.229 M", "12.35 M"]);
    }

    #[test]
    fn a_percentile_with_few_samples_above_it_is_a_dash() {
        let mut distribution = Distribution::default();
        (0..200).for_each(|_| distribution.count(1e6));
        let texts = percentiles(&distribution);
        assert_eq!(texts[4..], ["–".to_owned(), "1 ms".to_owned()]);
        assert_ne!(texts[3], "–");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(1_795_305_600), "2026-11-22 00:00 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
