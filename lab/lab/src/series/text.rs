//! The tables in the terminal.
//!
//! Must not know: how figures came about. Next: `tables.rs`.

use std::fmt::Write;

use super::figures::{Cell, Quantity};
use super::report::{Lost, SeriesReport};
use super::tables::{self, Table};
use crate::rounds::BUSY;

/// All of them.
pub(crate) fn render(report: &SeriesReport) -> String {
    let mut text = String::new();
    for release in &report.releases {
        let line = match (&release.about, &release.failure) {
            (Some(about), None) => format!("{}; {}", about.version, about.build),
            (_, failure) => {
                let failure = failure.as_deref().unwrap_or_default();
                format!("takes no part: {}", failure.lines().next().unwrap_or_default())
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
        let told =
            table.columns.iter().zip(&cells).map(|(column, cell)| told(&column.quantity, cell));
        rows.push([version].into_iter().chain(told).collect());
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

/// A table's lines: each release that took part, and its cells.
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

/// Of `3.5.5 27 Jan 2026`, the number.
pub(crate) fn number(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or("unknown")
}

/// A cell: mean, deviation, change.
pub(crate) fn told(quantity: &Quantity, cell: &Cell) -> String {
    let Cell::Figure { mean, deviation, change } = cell else {
        return if *cell == Cell::Failed { "failed" } else { "–" }.to_owned();
    };
    let text = figure(quantity, *mean, *deviation);
    change.map_or(text.clone(), |change| format!("{text} {}", per_cent(change)))
}

/// A change, in words.
pub(crate) fn per_cent(change: f64) -> String {
    format!("{change:+.1} %")
}

/// Mean and deviation, in words.
pub(crate) fn figure(quantity: &Quantity, mean: f64, deviation: f64) -> String {
    match quantity {
        Quantity::Rate(..) | Quantity::Throughput(..) => {
            format!("{} ± {}", grouped(mean), grouped(deviation))
        }
        Quantity::Factor(..) => format!("{mean:.2}x ± {deviation:.2}"),
        Quantity::Gain(..) => format!("{mean:+.1} % ± {deviation:.1}"),
    }
}

/// Whether other programs ran meanwhile, so that the figures are not to be trusted.
pub(crate) fn noise(report: &SeriesReport) -> Option<String> {
    let busy = report.others.iter().flatten();
    let noisy = busy.filter(|busy| **busy > BUSY).count();
    (noisy > 0).then(|| {
        format!("{noisy} of {} runs are noisy: other programs ran meanwhile", report.others.len())
    })
}

/// What went wrong: release, job, why.
pub(crate) fn failures(report: &SeriesReport) -> Vec<(&str, &str, &str)> {
    let failed = report.figures.iter().filter_map(|figure| match &figure.lost {
        Some(Lost::Failed(why)) => {
            Some((figure.release.as_str(), figure.id.as_str(), why.as_str()))
        }
        _ => None,
    });
    failed.collect()
}

/// A number without fractions, in groups of three; below 100 with as many digits as say something.
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
    fn numbers_are_told_in_groups() {
        let told = [0.0, 3.26, 27.4, 271.4, 7963.0, 2_988_428.0].map(grouped);
        assert_eq!(told, ["0.0", "3.3", "27", "271", "7,963", "2,988,428"]);
    }
}
