//! The tables as text.

use std::fmt::Write;

use super::figures::{Cell, Quantity};
use super::report::{NoFigure, SeriesReport};
use super::tables::{self, Table};
use crate::machine::load::BUSY;

/// All tables.
pub(crate) fn render(report: &SeriesReport) -> String {
    let mut text = String::new();
    for release in &report.releases {
        let line = match (&release.about, &release.failure) {
            (Some(about), None) => format!("{}; {}", about.version, about.build),
            (_, failure) => {
                let failure = failure.as_deref().unwrap_or_default();
                format!("unavailable: {}", failure.lines().next().unwrap_or_default())
            }
        };
        _ = writeln!(text, "{:<14} {line}", release.label);
    }
    for table in tables::all(report.settings.threads) {
        _ = writeln!(text, "\n{}. {}", table.title, table.note);
        text.push_str(&lines(report, &table));
    }
    if let Some(noise) = noise(report) {
        _ = writeln!(text, "\n{noise}");
    }
    for (release, job, why) in failures(report) {
        _ = writeln!(text, "{release} FAILED {job}: {why}");
    }
    text
}

/// A table as aligned text.
fn lines(report: &SeriesReport, table: &Table) -> String {
    let heads = [String::new()].into_iter().chain(table.columns.iter().map(|c| c.head.clone()));
    let mut rows = vec![heads.collect::<Vec<_>>()];
    for (version, cells) in cells(report, table) {
        let texts =
            table.columns.iter().zip(&cells).map(|(column, cell)| describe(&column.quantity, cell));
        rows.push([version].into_iter().chain(texts).collect());
    }
    let count = table.columns.len() + 1;
    let widths: Vec<usize> = (0..count)
        .map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default())
        .collect();
    let mut text = String::new();
    for row in rows {
        let padded: Vec<_> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        _ = writeln!(text, "  {}", padded.join("   ").trim_end());
    }
    text
}

/// The lines of a table: each release that took part, with its cells.
pub(crate) fn cells(report: &SeriesReport, table: &Table) -> Vec<(String, Vec<Cell>)> {
    let present: Vec<_> =
        report.releases.iter().filter(|release| release.failure.is_none()).collect();
    let Some(first) = present.first() else { return Vec::new() };
    let lines = present.iter().map(|release| {
        let cells = table
            .columns
            .iter()
            .map(|column| column.quantity.cell(report, &release.name, &first.name));
        let version = release.about.as_ref().map_or("", |about| about.version.as_str());
        (number(version).to_owned(), cells.collect())
    });
    lines.collect()
}

/// The version number, from text such as `3.5.5 27 Jan 2026`.
pub(crate) fn number(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or("unknown")
}

/// A cell: mean, deviation, change.
pub(crate) fn describe(quantity: &Quantity, cell: &Cell) -> String {
    let Cell::Figure { mean, deviation, change } = cell else {
        return if *cell == Cell::Failed { "failed" } else { "–" }.to_owned();
    };
    let text = figure(quantity, *mean, *deviation);
    change.map_or(text.clone(), |change| format!("{text} {}", per_cent(change)))
}

/// A change in per cent.
pub(crate) fn per_cent(change: f64) -> String {
    format!("{change:+.1} %")
}

/// Mean and deviation.
pub(crate) fn figure(quantity: &Quantity, mean: f64, deviation: f64) -> String {
    match quantity {
        Quantity::Rate(..) | Quantity::Throughput(..) => {
            format!("{} ± {}", grouped(mean), grouped(deviation))
        }
        Quantity::Factor(..) => format!("{mean:.2}x ± {deviation:.2}"),
        Quantity::Gain(..) => format!("{mean:+.1} % ± {deviation:.1}"),
    }
}

/// A warning if other programs disturbed the runs.
pub(crate) fn noise(report: &SeriesReport) -> Option<String> {
    let busy = report.others.iter().flatten();
    let noisy = busy.filter(|busy| **busy > BUSY).count();
    (noisy > 0).then(|| {
        format!("{noisy} of {} runs are noisy: other programs were running", report.others.len())
    })
}

/// The failures: release, job, reason.
pub(crate) fn failures(report: &SeriesReport) -> Vec<(&str, &str, &str)> {
    let failed = report.figures.iter().filter_map(|figure| match &figure.lost {
        Some(NoFigure::Failed(why)) => {
            Some((figure.release.as_str(), figure.id.as_str(), why.as_str()))
        }
        _ => None,
    });
    failed.collect()
}

/// A number with thousands separators; below 100 with one or two significant digits.
fn grouped(number: f64) -> String {
    if number < 100.0 {
        return format!("{number:.*}", usize::from(number < 10.0));
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators() {
        let texts = [0.0, 3.26, 27.4, 271.4, 7963.0, 2_988_428.0].map(grouped);
        assert_eq!(texts, ["0.0", "3.3", "27", "271", "7,963", "2,988,428"]);
    }
}
