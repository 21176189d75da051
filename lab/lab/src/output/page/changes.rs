//! The page of a comparison of two reports.

use std::fmt::{self, Write};

use crate::output::format::date;
use crate::output::page::html::{ColourKey, Escaped, document};
use crate::output::page::verdicts::sign;
use crate::report::comparison::{Change, Comparison};
use crate::report::{Report, SpeedRatio};
use crate::statistics::Verdict;

/// Renders the page.
#[must_use]
pub fn render(old: &Report, new: &Report) -> String {
    let comparison = &Comparison::of(old, new);
    document("TLS benchmark: comparison of two reports", |page| {
        writeln!(page, "<h1>Comparison of two reports</h1>")?;
        for (which, report) in [("Old", old), ("New", new)] {
            let (settings, machine) = (&report.settings, &report.machine);
            writeln!(
                page,
                "<p>{which} report, {}: commit {}, {} accounting, a {} run on {}</p>",
                date(report.started),
                Escaped(&machine.commit),
                settings.accounting,
                Escaped(&settings.mode),
                Escaped(&machine.cpu)
            )?;
        }
        warnings(page, comparison)?;
        counts(page, new, comparison)?;
        writeln!(
            page,
            "<h2>Results</h2>\n<p>Speed relative to the best other peer, before and now, with 95 % confidence intervals. {} \
             results changed; {} have the same verdict and a change that is below 2 % or not significant.</p>",
            comparison.changes.len(),
            comparison.same
        )?;
        changes(page, new, comparison)?;
        for (ids, what) in [(&comparison.added, "the old"), (&comparison.removed, "the new")] {
            if !ids.is_empty() {
                writeln!(page, "<p>Not in {what} report: {}</p>", Escaped(&ids.join(", ")))?;
            }
        }
        Ok(())
    })
}

fn warnings(page: &mut String, comparison: &Comparison) -> fmt::Result {
    if comparison.warnings.is_empty() {
        return writeln!(page, "<p>Machine, settings and libraries are equal.</p>");
    }
    writeln!(page, "<h2>Other differences</h2>\n<ul class=\"warning\">")?;
    for warning in &comparison.warnings {
        writeln!(page, "<li>{}</li>", Escaped(warning))?;
    }
    writeln!(page, "</ul>")
}

/// The number of sides by verdict, before and now.
fn counts(page: &mut String, report: &Report, comparison: &Comparison) -> fmt::Result {
    writeln!(
        page,
        "<h2>Verdicts</h2>\n<div class=\"wide\"><table class=\"values\">\n<thead><tr><th>peer</th>"
    )?;
    for word in Verdict::ALL {
        write!(page, "<th>{}</th>", word.word())?;
    }
    writeln!(page, "</tr></thead>")?;
    for (peer, before, now) in &comparison.counts {
        write!(page, "<tr><th>{}{}</th>", ColourKey(report, peer), Escaped(report.label(peer)))?;
        for (before, now) in before.iter().zip(now) {
            match before == now {
                true => write!(page, "<td>{now}</td>")?,
                false => write!(page, "<td>{before} → <b>{now}</b></td>")?,
            }
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")
}

fn changes(page: &mut String, report: &Report, comparison: &Comparison) -> fmt::Result {
    writeln!(
        page,
        "<div class=\"wide\"><table class=\"glance changes\">\n<thead><tr><th>row</th><th>side</th><th>peer</th><th>before</th>\
         <th>now</th><th>change</th><th>value</th></tr></thead>"
    )?;
    let of_row = |one: &Change, other: &Change| one.row == other.row;
    for changes in comparison.changes.chunk_by(of_row) {
        writeln!(page, "<tbody>")?;
        for (index, change) in changes.iter().enumerate() {
            write!(page, "<tr>")?;
            if index == 0 {
                let title = change.row.title();
                write!(page, "<th rowspan=\"{}\">{}</th>", changes.len(), Escaped(&title))?;
            }
            write!(page, "<td>{}</td>", Escaped(&change.side))?;
            write!(
                page,
                "<td>{}{}</td>",
                ColourKey(report, &change.peer),
                Escaped(report.label(&change.peer))
            )?;
            speed(page, report, &change.before)?;
            speed(page, report, &change.now)?;
            let percent = |ratio: f64| 100.0 * (ratio - 1.0);
            let ratio_change = &change.ratio_change;
            writeln!(
                page,
                "<td>{} {:+.1} % <small>{:+.1} to {:+.1}</small></td><td>{} {:+.1} %</td></tr>",
                if change.better() { '↑' } else { '↓' },
                percent(ratio_change.ratio),
                percent(ratio_change.low),
                percent(ratio_change.high),
                change.counted(),
                percent(change.figure)
            )?;
        }
        writeln!(page, "</tbody>")?;
    }
    writeln!(page, "</table></div>")
}

fn speed(page: &mut String, report: &Report, speed: &SpeedRatio) -> fmt::Result {
    let (word, interval) = (speed.verdict.word(), &speed.interval);
    write!(
        page,
        "<td class=\"{word}\">{} {:.3} <small>{:.3}–{:.3}, {}</small></td>",
        sign(speed.verdict),
        interval.ratio,
        interval.low,
        interval.high,
        Escaped(report.label(&speed.against))
    )
}
