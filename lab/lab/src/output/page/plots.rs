//! Line charts for thread counts, write sizes and latency, with their tables.

use std::fmt::{self, Write};

use lab_scenario::Distribution;

use crate::output::format::{self, PERCENTILES, amount};
use crate::output::page::html::{ColourKey, Escaped, colour};
use crate::report::{PeerReport, Report, RowReport};

use super::drawing::{Drawing, Line, Marks};

/// The number of distribution classes in one plotted point: a sixteenth of a doubling.
const DRAWN: u32 = 4;

/// The plotted value of a thread count and a rate.
type Value<'v> = &'v dyn Fn(usize, f64) -> f64;

/// Handshakes per second by thread count, in total and per thread.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn threads(page: &mut String, report: &Report, row: &RowReport) -> fmt::Result {
    let counts = &row.row.threads;
    let most = counts.last().copied().unwrap_or(1) as f64;
    let id = Escaped(&row.row.id);
    writeln!(
        page,
        "<h3><a href=\"#{id}\">{}</a></h3>\n<div class=\"plots\">",
        Escaped(&row.title)
    )?;
    let each_thread = |count: usize, rate: f64| rate / count as f64;
    let drawings: [(&str, Value<'_>); 2] = [
        ("handshakes per second by thread count, server side, all threads", &|_, rate| rate),
        ("handshakes per second and thread", &each_thread),
    ];
    for (title, value) in drawings {
        let values = |peer: &str| -> Vec<(f64, f64)> {
            let rates = format::rates(row, peer).into_iter();
            rates.map(|(count, rate)| (count as f64 / most, value(count, rate))).collect()
        };
        let lines = peers(row).into_iter().map(|peer| (colour(report, peer), values(peer)));
        // If there are many thread counts, only some get a label.
        let apart = counts.len().div_ceil(9).max(1);
        let below = counts.iter().step_by(apart);
        let below = below.map(|count| (*count as f64 / most, count.to_string()));
        from_zero(page, title, lines.collect(), below.collect(), thousands)?;
    }
    let mut head = vec!["threads".to_owned()];
    head.extend(counts.iter().map(usize::to_string));
    let lines = peers(row).into_iter().map(|peer| {
        let rates = format::rates(row, peer).into_iter().map(|(count, rate)| {
            let scaling = format::scaling(row, peer, rate)
                .map_or_else(String::new, |scaling| format!(", ×{scaling:.2}"));
            let each = each_thread(count, rate);
            format!("{rate:.0} <small>{each:.0} each{scaling}</small>")
        });
        (peer, rates.collect())
    });
    writeln!(page, "</div>")?;
    by_peer(page, report, &head, lines.collect())
}

/// Throughput by write size for each side.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn sizes(page: &mut String, report: &Report, section: &[RowReport]) -> fmt::Result {
    // The row with the largest write is in another section.
    let of_sweep = &section[0].row;
    let alike = |row: &&RowReport| {
        let row = &row.row;
        (row.task, row.version, row.suite) == (of_sweep.task, of_sweep.version, of_sweep.suite)
    };
    let mut rows: Vec<_> = report.rows.iter().filter(alike).collect();
    rows.sort_by_key(|row| row.row.write_size);
    let place = |size: usize| (size.max(1) as f64).log2();
    let sizes = || rows.iter().map(|row| row.row.write_size);
    let (least, most) = (place(sizes().min().unwrap_or(1)), place(sizes().max().unwrap_or(1)));
    let across = |size: usize| (place(size) - least) / (most - least).max(1.0);
    let below = || sizes().map(|size| (across(size), short(size)));
    let everyone = rows.iter().flat_map(|row| peers(row)).fold(Vec::new(), |mut seen, peer| {
        if !seen.contains(&peer) {
            seen.push(peer);
        }
        seen
    });
    let mut tables = String::new();
    writeln!(page, "<div class=\"plots\">")?;
    for side in of_sweep.sides() {
        let value = |row: &RowReport, peer: &str| {
            let side = row.sides.iter().find(|each| each.side == side)?;
            let figure = side.peers.iter().find(|figure| figure.peer == peer)?;
            Some(amount(&row.row, &side.side, figure.nanoseconds))
        };
        let lines = everyone.iter().map(|peer| {
            let point = |row: &&RowReport| Some((across(row.row.write_size), value(row, peer)?));
            (colour(report, peer), rows.iter().filter_map(point).collect())
        });
        let title = format!("{side}: MB/s by write size");
        from_zero(page, &title, lines.collect(), below().collect(), thousands)?;
        let head: Vec<_> =
            [format!("{side}, MB/s")].into_iter().chain(sizes().map(short)).collect();
        let lines = everyone.iter().map(|peer| {
            let said = |row: &&RowReport| {
                value(row, peer).map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"))
            };
            (*peer, rows.iter().map(said).collect())
        });
        by_peer(&mut tables, report, &head, lines.collect())?;
    }
    writeln!(page, "</div>\n{tables}")
}

/// A number as an axis label.
fn thousands(number: f64) -> String {
    if number < 20_000.0 { format!("{number:.0}") } else { format!("{:.0}k", number / 1000.0) }
}

/// A write size as an axis label.
fn short(size: usize) -> String {
    match size {
        size if size >= 1 << 20 => format!("{}M", size >> 20),
        size if size >= 1 << 10 => format!("{}K", size >> 10),
        size => size.to_string(),
    }
}

/// Handshake latency of each side: distributions and percentiles.
pub(crate) fn latency(page: &mut String, report: &Report, row: &RowReport) -> fmt::Result {
    let id = Escaped(&row.row.id);
    writeln!(
        page,
        "<h3><a href=\"#{id}\">{}</a></h3>\n<div class=\"plots\">",
        Escaped(&row.title)
    )?;
    for side in ["client", "server"] {
        let of_peers = of_side(report, row, side);
        let classes = || of_peers.iter().flat_map(|(_, each)| each.classes.keys().copied());
        let Some((low, high)) = classes().min().zip(classes().max()) else { continue };
        // Adds one class on either side, so that a single class is visible.
        let (low, high) = (low.saturating_sub(DRAWN), high + DRAWN);
        let span = f64::from(high - low);
        let lines = of_peers.iter().map(|(peer, each)| {
            let shares = shares(each, low, high).into_iter();
            (colour(report, peer), shares.map(|(class, share)| (class / span, share)).collect())
        });
        let title = format!("handshake latency, {side}: share of handshakes by class, 4 % wide");
        let percent = |top: f64| format!("{:.1} %", 100.0 * top);
        from_zero(page, &title, lines.collect(), decades(low, high), percent)?;
    }
    writeln!(page, "</div>")?;
    for side in ["client", "server"] {
        let names = PERCENTILES.iter().map(|(name, _)| *name);
        let head = [side].into_iter().chain(names).chain(["max", "handshakes"]);
        let head: Vec<_> = head.map(str::to_owned).collect();
        let lines = of_side(report, row, side).into_iter().map(|(peer, distribution)| {
            let percentiles = format::percentiles(distribution).into_iter();
            (peer, percentiles.chain([distribution.total().to_string()]).collect())
        });
        by_peer(page, report, &head, lines.collect())?;
    }
    Ok(())
}

/// The non-empty distributions of one side, in the order of peers.
fn of_side<'r>(
    report: &'r Report,
    row: &'r RowReport,
    side: &str,
) -> Vec<(&'r str, &'r Distribution)> {
    let of_peer = |peer: &'r PeerReport| {
        let distribution = row.distributions.get(&peer.name)?.get(side)?;
        (distribution.total() > 0).then_some((peer.name.as_str(), distribution))
    };
    report.peers.iter().filter_map(of_peer).collect()
}

/// The share of times in each group of classes, by distance from `low`.
#[allow(clippy::cast_precision_loss)]
fn shares(distribution: &Distribution, low: u32, high: u32) -> Vec<(f64, f64)> {
    let total = distribution.total() as f64;
    let groups = (low..=high).step_by(DRAWN as usize);
    let point = |first: u32| {
        let counted: u64 =
            distribution.classes.range(first..first + DRAWN).map(|each| each.1).sum();
        (f64::from(first - low), counted as f64 / total)
    };
    groups.map(point).collect()
}

/// Ticks at 1, 2 and 5 of each power of ten between two classes.
fn decades(low: u32, high: u32) -> Marks {
    let at = |nanoseconds: f64| Distribution::class(nanoseconds) - f64::from(low);
    let span = f64::from(high - low);
    let times = (0..12).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    let marks: Marks = times
        .filter(|time| (0.0..=span).contains(&at(*time)))
        .map(|time| (at(time) / span, format::time(time)))
        .collect();
    // A range of several powers of ten has no space for all ticks.
    let apart = marks.len().div_ceil(6).max(1);
    marks.into_iter().step_by(apart).collect()
}

/// Writes a chart whose vertical axis starts at 0. The heights of points are values.
fn from_zero(
    page: &mut String,
    title: &str,
    mut lines: Vec<Line>,
    below: Marks,
    said: impl Fn(f64) -> String,
) -> fmt::Result {
    let top = lines.iter().flat_map(|line| &line.1).map(|point| point.1).fold(0.0, f64::max);
    let top = if top > 0.0 { top } else { 1.0 };
    for point in lines.iter_mut().flat_map(|line| &mut line.1) {
        point.1 /= top;
    }
    let left_axis = [0.0, 0.5, 1.0].map(|part| (part, said(part * top)));
    Drawing { title, lines, bottom_axis: below, left_axis: left_axis.into() }.write(page)
}

/// Writes a table with a line for each peer. Cells are HTML.
fn by_peer(
    page: &mut String,
    report: &Report,
    head: &[String],
    lines: Vec<(&str, Vec<String>)>,
) -> fmt::Result {
    write!(page, "<div class=\"wide\"><table class=\"values\"><thead><tr>")?;
    for word in head {
        write!(page, "<th>{word}</th>")?;
    }
    writeln!(page, "</tr></thead>")?;
    for (peer, values) in lines {
        write!(page, "<tr><th>{}{}</th>", ColourKey(report, peer), Escaped(report.label(peer)))?;
        for value in values {
            write!(page, "<td>{value}</td>")?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")
}

/// The measured peers.
fn peers(row: &RowReport) -> Vec<&str> {
    let figures = row.sides.first().into_iter().flat_map(|side| &side.peers);
    figures.map(|figure| figure.peer.as_str()).collect()
}
