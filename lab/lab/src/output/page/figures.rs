//! The results of a row: a table for each side, values that are not judged, failures.

use std::fmt::{self, Write};

use crate::output::format::{rate, unjudged_bytes};
use crate::output::page::html::{ColourKey, Escaped};
use crate::output::page::verdicts::{noisy, sign};
use crate::report::{Figure, Report, RowReport, SideReport};

/// Writes the results of a row.
pub(super) fn write(page: &mut String, report: &Report, row: &RowReport) -> fmt::Result {
    let (id, title) = (Escaped(&row.row.id), Escaped(&row.title));
    writeln!(page, "<section id=\"{id}\">\n<h4>{title}{}</h4>\n<div class=\"sides\">", noisy(row))?;
    for side in &row.sides {
        of_side(page, report, row, side)?;
    }
    writeln!(page, "</div>")?;
    for (peer, what, value) in unjudged_bytes(row) {
        let (label, value) = (report.label(peer), rate(row, what, value));
        writeln!(page, "<p>{}, {}: {value}</p>", Escaped(label), Escaped(what))?;
    }
    for (peer, why) in &row.failures {
        let (label, why) = (Escaped(report.label(peer)), Escaped(why));
        writeln!(page, "<p class=\"failed\">{label} failed: {why}</p>")?;
    }
    for (peer, why) in &row.unable {
        let (label, why) = (Escaped(report.label(peer)), Escaped(why));
        writeln!(page, "<p>{label} does not support this: {why}</p>")?;
    }
    let others = row.others.map(|others| format!(", {others:.2} CPUs busy with other programs"));
    let others = others.unwrap_or_default();
    writeln!(
        page,
        "<p class=\"small\">{id}: {} rounds in {:.0} s{others}</p>\n</section>",
        row.rounds, row.seconds
    )
}

fn of_side(page: &mut String, report: &Report, row: &RowReport, side: &SideReport) -> fmt::Result {
    let floors = side.peers.iter().any(|figure| figure.floors.is_some());
    let last = if floors { "time / floor" } else { "" };
    writeln!(
        page,
        "<table class=\"figures\"><thead><tr><th>{}</th><th>median</th><th>speed / best other</th><th>{last}</th></tr></thead>",
        Escaped(&side.side)
    )?;
    for figure in &side.peers {
        let label = Escaped(report.label(&figure.peer));
        let (value, spread) = (rate(row, &side.side, figure.nanoseconds), spread(figure));
        write!(
            page,
            "<tr><th>{}{label}</th><td>{value} <small>±{spread:.1} %</small></td>",
            ColourKey(report, &figure.peer)
        )?;
        match &figure.speed {
            Some(speed) => {
                let (word, sign) = (speed.verdict.word(), sign(speed.verdict));
                let interval = &speed.interval;
                write!(
                    page,
                    "<td class=\"{word}\" title=\"{word}, against {}\">{sign} {:.3} <small>{:.3}–{:.3}</small></td>",
                    Escaped(report.label(&speed.against)),
                    interval.ratio,
                    interval.low,
                    interval.high
                )?;
            }
            None => write!(page, "<td></td>")?,
        }
        let floors = figure.floors.map(|floors| format!("{:.2}", floors.ratio));
        writeln!(page, "<td>{}</td></tr>", floors.unwrap_or_default())?;
    }
    writeln!(page, "</table>")
}

/// Half the interquartile range as a percentage of the median.
fn spread(figure: &Figure) -> f64 {
    let [low, high] = figure.quartiles;
    50.0 * (high - low) / figure.nanoseconds
}
