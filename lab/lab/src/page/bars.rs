//! Bars: the sides of all rows of a section, those of one scale beside each other.
//!
//! Must not know: how figures came about. Next: `table.rs` for how they are said.

use std::fmt::{self, Write};

use lab_scenario::{Unit, Version};

use crate::page::{Text, colour};
use crate::report::{Report, RowReport, SideReport};
use crate::table::{amount, rate};

/// A bar, in the units of its drawing.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 12.0;

/// What has one scale: figures that count the same in one version of the protocol.
type Scale = (Version, Unit);

/// The bars of a section, by scale in the order of its rows.
pub(super) fn write(page: &mut String, report: &Report, section: &[RowReport]) -> fmt::Result {
    let sides = || section.iter().flat_map(|row| row.sides.iter().map(move |side| (row, side)));
    let mut scales: Vec<Scale> = Vec::new();
    for (row, side) in sides() {
        let scale = scale(row, side);
        if !scales.contains(&scale) {
            scales.push(scale);
        }
    }
    for each in scales {
        let of_scale: Vec<_> = sides().filter(|(row, side)| scale(row, side) == each).collect();
        let figures = of_scale.iter().flat_map(|(row, side)| {
            side.peers.iter().map(|figure| amount(&row.row, &side.side, figure.nanoseconds))
        });
        let longest = figures.fold(0.0, f64::max);
        let hint = if more_is_better(each.1) { "" } else { ", less is better" };
        writeln!(page, "<h3>TLS {}, {}{hint}</h3>\n<div class=\"charts\">", each.0, what(each.1))?;
        for (row, side) in of_scale {
            bars(page, report, row, side, longest)?;
        }
        writeln!(page, "</div>")?;
    }
    Ok(())
}

fn scale(row: &RowReport, side: &SideReport) -> Scale {
    (row.row.version, row.row.unit(&side.side))
}

fn more_is_better(unit: Unit) -> bool {
    matches!(unit, Unit::Rate | Unit::Throughput)
}

/// What a unit counts, for a heading.
fn what(unit: Unit) -> &'static str {
    match unit {
        Unit::Rate => "how many in a second",
        Unit::Throughput => "MB/s",
        Unit::Time => "time",
        Unit::Bytes => "memory",
        Unit::Count => "how many",
        Unit::Instructions => "instructions",
    }
}

/// One side of a row: a bar for each peer.
fn bars(
    page: &mut String,
    report: &Report,
    row: &RowReport,
    side: &SideReport,
    longest: f64,
) -> fmt::Result {
    writeln!(
        page,
        "<figure><figcaption><a href=\"#{}\">{}</a>: <b>{}</b></figcaption>\n<table class=\"bars\">",
        Text(&row.row.id),
        Text(&row.title),
        Text(&side.side)
    )?;
    for figure in &side.peers {
        let width = WIDTH * amount(&row.row, &side.side, figure.nanoseconds) / longest;
        let said = rate(row, &side.side, figure.nanoseconds);
        writeln!(
            page,
            "<tr><th>{}</th><td><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{said}\">\
             <rect class=\"p{}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/></svg></td><td>{said}</td></tr>",
            Text(report.label(&figure.peer)),
            colour(report, &figure.peer),
        )?;
    }
    writeln!(page, "</table></figure>")
}
