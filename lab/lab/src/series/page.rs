//! The page `openssl.html`. It is self-contained.

use std::fmt::{self, Write};

use super::figures::{Cell, Quantity};
use super::report::SeriesReport;
use super::tables::{self, Column};
use super::text::{cells, describe, failures, figure, noise, number, per_cent};
use crate::output::page::html::Escaped;

const STYLE: &str = include_str!("../output/page/page.css");
const MORE_STYLE: &str = include_str!("page.css");

/// The size of a bar in SVG units, and the part of it that the longest whisker may reach.
const BAR_WIDTH: f64 = 400.0;
const BAR_HEIGHT: f64 = 14.0;
const LARGEST: f64 = 0.95;

/// Renders the report.
pub(crate) fn render(report: &SeriesReport) -> String {
    let mut page = String::new();
    let written = write_page(&mut page, report);
    debug_assert!(written.is_ok(), "a string takes everything");
    page
}

fn write_page(page: &mut String, report: &SeriesReport) -> fmt::Result {
    writeln!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>OpenSSL, release by release</title>\n<style>\n{STYLE}{MORE_STYLE}</style>\n</head>\n<body>\n\
         <h1>OpenSSL, release by release</h1>\n<p>{INTRODUCTION}</p>"
    )?;
    if let Some(noise) = noise(report) {
        writeln!(page, "<p class=\"noisy\">{noise}</p>")?;
    }
    releases(page, report)?;
    for table in tables::all(report.settings.threads) {
        writeln!(
            page,
            "<section>\n<h2>{}</h2>\n<p>{}</p>",
            Escaped(table.title),
            Escaped(&table.note)
        )?;
        let lines = cells(report, &table);
        figures(page, &table.columns, &lines)?;
        writeln!(page, "<div class=\"charts\">")?;
        for (at, column) in table.columns.iter().enumerate() {
            let bars: Vec<_> = lines.iter().map(|(version, line)| (version, &line[at])).collect();
            chart(page, column, &bars)?;
        }
        writeln!(page, "</div>\n</section>")?;
    }
    for (release, job, why) in failures(report) {
        let (release, job, why) = (Escaped(release), Escaped(job), Escaped(why));
        writeln!(page, "<p class=\"failed\">{release} failed in {job}: {why}</p>")?;
    }
    machine(page, report)?;
    writeln!(page, "</body>\n</html>")
}

const INTRODUCTION: &str = "Values are the mean over the runs, its standard deviation, and the change relative to the first \
    release. Higher is better. A dash: not supported by the release, or not measured yet.";

/// The main changes of each release series.
const SERIES: [(&str, &str, &str); 9] = [
    ("1.1.1", "September 2018", "TLS 1.3"),
    ("3.0", "September 2021", "providers, fetched algorithms, a FIPS module; long-term support"),
    ("3.1", "March 2023", "FIPS 140-3; the first losses of 3.0 made good"),
    ("3.2", "November 2023", "QUIC for clients, certificate compression"),
    ("3.3", "April 2024", "QUIC: logs, non-blocking streams"),
    ("3.4", "October 2024", "FIPS indicators, suites for integrity alone"),
    (
        "3.5",
        "April 2025",
        "ML-KEM, ML-DSA, SLH-DSA, QUIC servers, hybrid groups by default; long-term support",
    ),
    ("3.6", "October 2025", "opaque symmetric keys, verification of LMS"),
    ("4.0", "April 2026", "Encrypted Client Hello; engines and SSL 3.0 removed"),
];

fn releases(page: &mut String, report: &SeriesReport) -> fmt::Result {
    writeln!(
        page,
        "<div class=\"wide\"><table class=\"history\">\n<tr><th>series</th><th>since</th><th>main changes</th><th>measured</th></tr>"
    )?;
    for release in &report.releases {
        let series = release.name.strip_prefix(super::report::NAME).unwrap_or(&release.name);
        let (_, since, brought) =
            SERIES.iter().find(|(name, ..)| *name == series).unwrap_or(&("", "", ""));
        let measured = match (&release.about, &release.failure) {
            (Some(about), None) => format!("{}", Escaped(&about.version)),
            (_, failure) => {
                format!("unavailable<pre>{}</pre>", Escaped(failure.as_deref().unwrap_or_default()))
            }
        };
        writeln!(
            page,
            "<tr><td>{}</td><td>{since}</td><td>{brought}</td><td>{measured}</td></tr>",
            Escaped(series)
        )?;
    }
    writeln!(page, "</table></div>")
}

fn figures(page: &mut String, columns: &[Column], lines: &[(String, Vec<Cell>)]) -> fmt::Result {
    writeln!(page, "<div class=\"wide\"><table class=\"series\">\n<tr><th></th>")?;
    for column in columns {
        write!(page, "<th>{}</th>", Escaped(&column.head))?;
    }
    writeln!(page, "</tr>")?;
    for (version, cells) in lines {
        write!(page, "<tr><th>{}</th>", Escaped(version))?;
        for (column, cell) in columns.iter().zip(cells) {
            let quantity = &column.quantity;
            match cell {
                Cell::Figure { mean, deviation, change } => {
                    let change = change.map(per_cent).unwrap_or_default();
                    let figure = figure(quantity, *mean, *deviation);
                    write!(page, "<td>{figure} <small>{change}</small></td>")?;
                }
                Cell::Failed => write!(page, "<td class=\"failed\">failed</td>")?,
                Cell::None => write!(page, "<td>–</td>")?,
            }
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")
}

/// A bar chart of one column, with whiskers for the standard deviation. Quantities that compare two
/// columns have no chart.
fn chart(page: &mut String, column: &Column, bars: &[(&String, &Cell)]) -> fmt::Result {
    if matches!(column.quantity, Quantity::Factor(..) | Quantity::Gain(..)) {
        return Ok(());
    }
    let bar = |cell: &Cell| match cell {
        Cell::Figure { mean, deviation, .. } => Some((*mean, *deviation)),
        _ => None,
    };
    let longest = bars.iter().filter_map(|(_, cell)| bar(cell));
    let longest = longest.map(|(mean, deviation)| mean + deviation).fold(0.0, f64::max);
    writeln!(page, "<div><h4>{}</h4>\n<table class=\"lengths\">", Escaped(&column.head))?;
    for (version, cell) in bars {
        let Some((mean, deviation)) = bar(cell) else { continue };
        let scale = BAR_WIDTH * LARGEST / longest;
        let (from, to) = (((mean - deviation) * scale).max(0.0), (mean + deviation) * scale);
        let middle = BAR_HEIGHT / 2.0;
        writeln!(
            page,
            "<tr><td>{}</td><td><svg viewBox=\"0 0 {BAR_WIDTH} {BAR_HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{}\"><rect class=\"p0\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>\
             <path class=\"whisker\" d=\"M{from:.1} {middle}H{to:.1}\"/></svg></td></tr>",
            Escaped(version),
            Escaped(&describe(&column.quantity, cell)),
            mean * scale,
        )?;
    }
    writeln!(page, "</table></div>")
}

fn machine(page: &mut String, report: &SeriesReport) -> fmt::Result {
    let (machine, settings) = (&report.machine, &report.settings);
    let kind = if machine.virtual_machine { " (virtual machine)" } else { "" };
    let pin = settings.pin.map_or("none".to_owned(), |cpu| format!("CPU {cpu}"));
    let others = report.others.iter().map(|busy| match busy {
        Some(busy) => format!("{busy:.2}"),
        None => "unknown".to_owned(),
    });
    let built = report.releases.iter().filter_map(|release| {
        let about = release.about.as_ref()?;
        Some((number(&about.version), about.build.clone()))
    });
    let facts = [
        ("processor", format!("{}, {} logical{kind}", machine.cpu, machine.cpus)),
        ("extensions", machine.features.join(" ")),
        ("governor; SMT", format!("{}; {}", machine.governor, machine.smt)),
        ("system", format!("{}, Linux {}", machine.system, machine.kernel)),
        ("compilers", format!("{}; {}", machine.rustc, machine.cc)),
        ("commit", machine.commit.clone()),
        ("runs", format!("{}, {} ms each", settings.runs, settings.measure_ms)),
        ("CPUs busy with other programs", others.collect::<Vec<_>>().join("; ")),
        ("allocator; pin; seed", format!("{}; {pin}; {}", settings.allocator, settings.seed)),
        ("cargo profile", settings.profile.clone()),
        ("start; end", format!("{} s; {} s since 1970", report.started, report.updated)),
    ];
    writeln!(page, "<h2>Machine and method</h2>\n<p>{METHOD}</p>\n<table>")?;
    for (name, value) in facts.into_iter().chain(built) {
        writeln!(page, "<tr><td>{}</td><td>{}</td></tr>", Escaped(name), Escaped(&value))?;
    }
    writeln!(page, "</table>")
}

const METHOD: &str = "In each run every release does every task once, in a new process, one release after the other in random \
    order. Connections are made in memory with both sides in one thread; their time is that of both sides, \
    without transport. lab/README.md describes the method and the differences from s_time and speed.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_a_line_of_history() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../series");
        let workers = crate::worker::discovery::discover(std::path::Path::new(folder)).unwrap();
        let names: Vec<_> =
            workers.iter().map(|worker| worker.name.strip_prefix("openssl-").unwrap()).collect();
        assert_eq!(names, SERIES.map(|(name, ..)| name));
    }
}
