//! Drawings of the page that are more than bars: threads, distributions; and the tables below them.
//!
//! Must not know: how figures came about. Next: `page.rs`.

use std::fmt::{self, Write};

use lab_scenario::Distribution;

use crate::page::{COLOURS, Text};
use crate::report::{Report, RowReport};
use crate::table::{self, PERCENTILES};

/// The size of a drawing, in its own units, and what is left around it for words.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 64.0;
const BELOW: f64 = 28.0;
const ABOVE: f64 = 12.0;

/// Classes of a distribution that are drawn as one point: a sixteenth of a doubling.
const DRAWN: u32 = 4;

/// A line: its peer's place in the report, and points between 0 and 1.
type Line = (usize, Vec<(f64, f64)>);

/// Marks of an axis: where, between 0 and 1, and what is written there.
type Marks = Vec<(f64, String)>;

/// Handshakes in a second by threads: a drawing and a table.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn threads(page: &mut String, report: &Report, row: &RowReport) -> fmt::Result {
    let counts = &row.row.threads;
    let most = counts.last().copied().unwrap_or(1) as f64;
    let rates = |peer: &str| -> Vec<(usize, f64)> { table::rates(row, peer) };
    let top = peers(row).into_iter().flat_map(rates).map(|(_, rate)| rate);
    let top = top.fold(1.0, f64::max);
    let lines = peers(row).into_iter().map(|peer| {
        let points = rates(peer).into_iter().map(|(count, rate)| (count as f64 / most, rate / top));
        (place(report, peer), points.collect())
    });
    let below = counts.iter().map(|count| (*count as f64 / most, count.to_string()));
    let beside = [0.0, 0.5, 1.0].map(|part| (part, format!("{:.0}/s", part * top)));
    let title = "handshakes in a second by threads, servers";
    draw(page, title, &lines.collect::<Vec<_>>(), &below.collect(), &beside.into())?;
    writeln!(page, "<div class=\"wide\"><table><tr><th>{title}</th>")?;
    for count in counts {
        write!(page, "<th>{count}</th>")?;
    }
    writeln!(page, "</tr>")?;
    for peer in peers(row) {
        write!(page, "<tr><td>{}</td>", Text(report.label(peer)))?;
        for (count, rate) in rates(peer) {
            let scaling = table::scaling(row, peer, rate)
                .map_or_else(String::new, |scaling| format!(", ×{scaling:.2}"));
            let each = rate / count as f64;
            write!(page, "<td>{rate:.0} <small>{each:.0} each{scaling}</small></td>")?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")
}

/// How long handshakes took, each side: a drawing and percentiles.
pub(crate) fn latency(page: &mut String, report: &Report, row: &RowReport) -> fmt::Result {
    for side in ["client", "server"] {
        let of_peers: Vec<_> = row
            .distributions
            .iter()
            .filter_map(|(peer, sides)| Some((peer.as_str(), sides.get(side)?)))
            .filter(|(_, distribution)| distribution.total() > 0)
            .collect();
        let classes = || of_peers.iter().flat_map(|(_, each)| each.classes.keys().copied());
        let Some((low, high)) = classes().min().zip(classes().max()) else { continue };
        // One class more on either side, so that a single one is no point.
        let (low, high) = (low.saturating_sub(DRAWN), high + DRAWN);
        let span = f64::from(high - low);
        let shares: Vec<_> =
            of_peers.iter().map(|(peer, each)| (*peer, shares(each, low, high))).collect();
        let top = shares.iter().flat_map(|(_, points)| points).map(|point| point.1);
        let top = top.fold(0.0, f64::max);
        let lines = shares.iter().map(|(peer, points)| {
            let points = points.iter().map(|(class, share)| (class / span, share / top));
            (place(report, peer), points.collect())
        });
        let beside = [0.0, 0.5, 1.0].map(|part| (part, format!("{:.1} %", 100.0 * part * top)));
        let title = format!("time of a handshake, {side}: shares of classes 4 % wide");
        draw(page, &title, &lines.collect::<Vec<_>>(), &decades(low, high), &beside.into())?;
        writeln!(page, "<div class=\"wide\"><table><tr><th>{side}</th>")?;
        for (name, _) in PERCENTILES {
            write!(page, "<th>{name}</th>")?;
        }
        writeln!(page, "<th>max</th><th>handshakes</th></tr>")?;
        for (peer, distribution) in of_peers {
            write!(page, "<tr><td>{}</td>", Text(report.label(peer)))?;
            for value in table::percentiles(distribution) {
                write!(page, "<td>{value}</td>")?;
            }
            writeln!(page, "<td>{}</td></tr>", distribution.total())?;
        }
        writeln!(page, "</table></div>")?;
    }
    Ok(())
}

/// The share of times in each group of classes, by its distance from `low`.
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

/// Marks at 1, 2 and 5 of each power of ten between two classes.
fn decades(low: u32, high: u32) -> Marks {
    let at = |nanoseconds: f64| Distribution::class(nanoseconds) - f64::from(low);
    let span = f64::from(high - low);
    let times = (0..12).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    let marks: Marks = times
        .filter(|time| (0.0..=span).contains(&at(*time)))
        .map(|time| (at(time) / span, table::time(time)))
        .collect();
    // Over several powers there is no room for all.
    let apart = marks.len().div_ceil(9).max(1);
    marks.into_iter().step_by(apart).collect()
}

fn draw(
    page: &mut String,
    title: &str,
    lines: &[Line],
    below: &Marks,
    beside: &Marks,
) -> fmt::Result {
    let x = |part: f64| LEFT + part * (WIDTH - LEFT - ABOVE);
    let y = |part: f64| HEIGHT - BELOW - part * (HEIGHT - BELOW - ABOVE);
    writeln!(
        page,
        "<h4>{0}</h4>\n<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">",
        Text(title)
    )?;
    for (at, mark) in beside {
        let (y, right, words) = (y(*at), x(1.0), LEFT - 6.0);
        writeln!(
            page,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        )?;
        writeln!(
            page,
            "<text x=\"{words}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>",
            y + 4.0
        )?;
    }
    for (at, mark) in below {
        let (x, foot) = (x(*at), HEIGHT - 8.0);
        writeln!(page, "<text x=\"{x:.1}\" y=\"{foot}\" text-anchor=\"middle\">{mark}</text>")?;
    }
    for (peer, points) in lines {
        let points: Vec<_> =
            points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
        let colour = peer % COLOURS;
        writeln!(page, "<polyline class=\"l{colour}\" points=\"{}\"/>", points.join(" "))?;
    }
    writeln!(page, "</svg>")
}

/// Who was measured.
fn peers(row: &RowReport) -> Vec<&str> {
    let figures = row.sides.first().into_iter().flat_map(|side| &side.peers);
    figures.map(|figure| figure.peer.as_str()).collect()
}

fn place(report: &Report, peer: &str) -> usize {
    report.peers.iter().position(|each| each.name == peer).unwrap_or_default()
}
