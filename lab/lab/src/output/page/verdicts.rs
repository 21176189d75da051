//! The overview of verdicts: counts by peer, then a cell for each side of each row.

use std::fmt::{self, Write};

use crate::output::page::html::{ColourKey, Escaped};
use crate::report::{Figure, PeerReport, Report, RowReport};
use crate::statistics::Verdict;

const LEGEND: &str = "Speed relative to the best other peer: above 1 is faster, or smaller for bytes and allocations. Ahead, behind \
    and tie need a 95 % confidence interval within ±2 % of the ratio; a tie contains 1. Wider intervals are undecided. \
    Noisy rows were measured while other programs were running.";

/// Writes both tables.
pub(super) fn write(page: &mut String, report: &Report) -> fmt::Result {
    let peers: Vec<_> =
        report.peers.iter().filter(|peer| !peer.floor && peer.failure.is_none()).collect();
    writeln!(page, "<h2 id=\"verdicts\">Verdicts</h2>\n<p>{LEGEND}</p>")?;
    tally(page, report, &peers)?;
    let narrow = if peers.len() > 4 { " many" } else { "" };
    write!(
        page,
        "<div class=\"wide\"><table class=\"glance{narrow}\">\n<thead><tr><th>row</th><th>side</th>"
    )?;
    for peer in &peers {
        write!(page, "<th><span>{}</span></th>", Escaped(&peer.label))?;
    }
    writeln!(page, "</tr></thead>")?;
    let mut section = "";
    for row in &report.rows {
        if section != row.row.section {
            section = &row.row.section;
            let (name, columns) = (Escaped(section), peers.len() + 2);
            writeln!(
                page,
                "<tbody><tr><th class=\"part\" colspan=\"{columns}\"><a href=\"#{name}\">{name}</a></th></tr></tbody>"
            )?;
        }
        writeln!(page, "<tbody>")?;
        for (index, side) in row.sides.iter().enumerate() {
            write!(page, "<tr>")?;
            if index == 0 {
                let (lines, noisy) = (row.sides.len(), noisy(row));
                let (id, title) = (Escaped(&row.row.id), Escaped(&row.title));
                write!(page, "<th rowspan=\"{lines}\"><a href=\"#{id}\">{title}</a>{noisy}</th>")?;
            }
            write!(page, "<td>{}</td>", Escaped(&side.side))?;
            for peer in &peers {
                let figure = side.peers.iter().find(|figure| figure.peer == peer.name);
                cell(page, report, row, &peer.name, figure)?;
            }
            writeln!(page, "</tr>")?;
        }
        if row.sides.is_empty() {
            let (id, title, columns) = (Escaped(&row.row.id), Escaped(&row.title), peers.len() + 1);
            writeln!(
                page,
                "<tr><th><a href=\"#{id}\">{title}</a></th><td colspan=\"{columns}\">no results</td></tr>"
            )?;
        }
        writeln!(page, "</tbody>")?;
    }
    writeln!(page, "</table></div>")
}

/// The number of verdicts of each kind by peer.
fn tally(page: &mut String, report: &Report, peers: &[&PeerReport]) -> fmt::Result {
    write!(page, "<table class=\"tally\">\n<thead><tr><th>peer</th><th></th>")?;
    for verdict in Verdict::ALL {
        write!(page, "<th class=\"{0}\">{0}</th>", verdict.word())?;
    }
    writeln!(page, "<th>failed</th></tr></thead>")?;
    for peer in peers {
        let counts = Verdict::ALL.map(|verdict| count(report, &peer.name, verdict));
        let all = counts.iter().sum::<usize>().max(1);
        write!(
            page,
            "<tr><th>{}{}</th><td><svg viewBox=\"0 0 {all} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
            ColourKey(report, &peer.name),
            Escaped(&peer.label)
        )?;
        let mut from = 0;
        for (verdict, count) in Verdict::ALL.iter().zip(counts) {
            write!(
                page,
                "<rect class=\"{}\" x=\"{from}\" width=\"{count}\" height=\"10\"/>",
                verdict.word()
            )?;
            from += count;
        }
        write!(page, "</svg></td>")?;
        for count in counts {
            write!(page, "<td>{count}</td>")?;
        }
        let failed = report.rows.iter().filter(|row| row.failures.contains_key(&peer.name)).count();
        writeln!(page, "<td>{failed}</td></tr>")?;
    }
    writeln!(page, "</table>")
}

fn count(report: &Report, peer: &str, verdict: Verdict) -> usize {
    let figures = report.rows.iter().flat_map(|row| &row.sides).flat_map(|side| &side.peers);
    let speeds = figures.filter(|figure| figure.peer == peer).filter_map(|f| f.speed.as_ref());
    speeds.filter(|speed| speed.verdict == verdict).count()
}

fn cell(
    page: &mut String,
    report: &Report,
    row: &RowReport,
    peer: &str,
    figure: Option<&Figure>,
) -> fmt::Result {
    match figure.map(|figure| figure.speed.as_ref()) {
        Some(Some(speed)) => {
            let (word, interval) = (speed.verdict.word(), &speed.interval);
            // Near 1, a third digit is needed to see on which side of 1 the ratio is.
            let digits = if (interval.ratio - 1.0).abs() < 0.01 { 3 } else { 2 };
            write!(
                page,
                "<td class=\"{word}\" title=\"{word}, against {}: {:.3}–{:.3}\">{} {:.digits$}</td>",
                Escaped(report.label(&speed.against)),
                interval.low,
                interval.high,
                sign(speed.verdict),
                interval.ratio,
            )
        }
        Some(None) => write!(page, "<td>no other peer</td>"),
        None if row.failures.contains_key(peer) => write!(page, "<td class=\"failed\">failed</td>"),
        None => write!(page, "<td class=\"none\">–</td>"),
    }
}

/// A sign for the verdict, independent of its colour.
pub(super) fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Ahead => '▲',
        Verdict::Behind => '▼',
        Verdict::Tie => '=',
        Verdict::Undecided => '?',
    }
}

/// A marker for noisy rows; empty for others.
pub(super) fn noisy(row: &RowReport) -> &'static str {
    if row.noisy { " <span class=\"noisy\">noisy</span>" } else { "" }
}
