//! Line charts as SVG.

use std::fmt::{self, Write};

use crate::output::page::html::Escaped;

/// The size of a chart and its margins in SVG units. The width is that of a phone, so that text has
/// its normal size there.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 54.0;
const BELOW: f64 = 24.0;
const AROUND: f64 = 12.0;

/// Lines with at most this many points get markers.
const FEW: usize = 16;

/// A line: its colour, and points with coordinates from 0 to 1.
pub(super) type Line = (String, Vec<(f64, f64)>);

/// The ticks of an axis: position from 0 to 1, and label.
pub(super) type Marks = Vec<(f64, String)>;

/// A line chart.
pub(super) struct Drawing<'t> {
    pub(super) title: &'t str,
    pub(super) lines: Vec<Line>,
    pub(super) bottom_axis: Marks,
    pub(super) left_axis: Marks,
}

impl Drawing<'_> {
    pub(super) fn write(&self, page: &mut String) -> fmt::Result {
        let title = Escaped(self.title);
        writeln!(
            page,
            "<figure><figcaption>{title}</figcaption>\n\
             <svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">"
        )?;
        self.axes(page)?;
        for (colour, points) in &self.lines {
            let places: Vec<_> = points
                .iter()
                .map(|point| format!("{:.1},{:.1}", across(point.0), up(point.1)))
                .collect();
            writeln!(page, "<polyline class=\"l{colour}\" points=\"{}\"/>", places.join(" "))?;
            for point in points.iter().filter(|_| points.len() <= FEW) {
                let (x, y) = (across(point.0), up(point.1));
                writeln!(
                    page,
                    "<circle class=\"p{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>"
                )?;
            }
        }
        writeln!(page, "</svg></figure>")
    }

    fn axes(&self, page: &mut String) -> fmt::Result {
        let (left, right) = (across(0.0), across(1.0));
        for (at, mark) in &self.left_axis {
            let (y, words, below) = (up(*at), left - 6.0, up(*at) + 4.0);
            writeln!(
                page,
                "<line class=\"axis\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{words:.1}\" y=\"{below:.1}\" text-anchor=\"end\">{mark}</text>"
            )?;
        }
        for (at, mark) in &self.bottom_axis {
            let (x, foot, tip, words) = (across(*at), up(0.0), up(0.0) + 4.0, HEIGHT - 8.0);
            writeln!(
                page,
                "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{foot:.1}\" y2=\"{tip:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{words:.1}\" text-anchor=\"middle\">{mark}</text>"
            )?;
        }
        Ok(())
    }
}

fn across(part: f64) -> f64 {
    LEFT + part * (WIDTH - LEFT - AROUND)
}

fn up(part: f64) -> f64 {
    HEIGHT - BELOW - part * (HEIGHT - BELOW - AROUND)
}
