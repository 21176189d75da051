//! Bar charts of a section. Sides with the same scale are in one group.

use std::fmt::{self, Write};

use lab_scenario::{Unit, Version};

use crate::output::format::{amount, rate};
use crate::output::page::html::{Escaped, colour};
use crate::report::{Report, RowReport, SideReport};

/// The size of a bar in SVG units.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 12.0;

/// The key of a scale: values with the same unit and protocol version are comparable.
type Scale = (Version, Unit);

/// Writes the bar charts of a section by scale, in the order of its rows.
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
        let hint = if more_is_better(each.1) { "" } else { ", lower is better" };
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

/// The unit in a heading.
fn what(unit: Unit) -> &'static str {
    match unit {
        Unit::Rate => "operations per second",
        Unit::Throughput => "MB/s",
        Unit::Time => "time",
        Unit::Bytes => "memory",
        Unit::Count => "count",
        Unit::Instructions => "instructions",
    }
}

/// The bar chart of one side of a row.
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
        Escaped(&row.row.id),
        Escaped(&row.title),
        Escaped(&side.side)
    )?;
    for figure in &side.peers {
        let width = WIDTH * amount(&row.row, &side.side, figure.nanoseconds) / longest;
        let said = rate(row, &side.side, figure.nanoseconds);
        writeln!(
            page,
            "<tr><th>{}</th><td><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{said}\">\
             <rect class=\"p{}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/></svg></td><td>{said}</td></tr>",
            Escaped(report.label(&figure.peer)),
            colour(report, &figure.peer),
        )?;
    }
    writeln!(page, "</table></figure>")
}
