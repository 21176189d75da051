//! What changed between two reports, as a page.
//!
//! Must not know: what counts as a change. Next: `compare.rs`.

use std::fmt::{self, Write};

use crate::compare::{Change, Comparison, WORDS};
use crate::page::method::date;
use crate::page::verdicts::sign;
use crate::page::{Key, Text, document};
use crate::report::{Report, Speed};

/// The page of a comparison.
pub(crate) fn render(old: &Report, new: &Report, comparison: &Comparison) -> String {
    document("TLS libraries side by side: what changed", |page| {
        writeln!(page, "<h1>What changed</h1>")?;
        for (which, report) in [("From", old), ("To", new)] {
            let (settings, machine) = (&report.settings, &report.machine);
            writeln!(
                page,
                "<p>{which} {}: commit {}, {} accounting, a {} run on {}</p>",
                date(report.started),
                Text(&machine.commit),
                settings.accounting,
                Text(&settings.mode),
                Text(&machine.cpu)
            )?;
        }
        warnings(page, comparison)?;
        counts(page, new, comparison)?;
        writeln!(
            page,
            "<h2>Figures</h2>\n<p>Speed against the best of the other peers, before and now, with 95 % intervals. {} figures \
             changed, {} did not: their verdict is the same, and the change below 2 % or not to be told from noise.</p>",
            comparison.changes.len(),
            comparison.same
        )?;
        changes(page, new, comparison)?;
        for (ids, what) in [(&comparison.appeared, "the old"), (&comparison.gone, "the new")] {
            if !ids.is_empty() {
                writeln!(page, "<p>Not in {what} report: {}</p>", Text(&ids.join(", ")))?;
            }
        }
        Ok(())
    })
}

fn warnings(page: &mut String, comparison: &Comparison) -> fmt::Result {
    if comparison.warnings.is_empty() {
        return writeln!(page, "<p>Machine, settings and libraries are the same.</p>");
    }
    writeln!(page, "<h2>What else differs</h2>\n<ul class=\"warning\">")?;
    for warning in &comparison.warnings {
        writeln!(page, "<li>{}</li>", Text(warning))?;
    }
    writeln!(page, "</ul>")
}

/// How many sides of each verdict, before and now.
fn counts(page: &mut String, report: &Report, comparison: &Comparison) -> fmt::Result {
    writeln!(
        page,
        "<h2>Verdicts</h2>\n<div class=\"wide\"><table class=\"values\">\n<thead><tr><th>peer</th>"
    )?;
    for word in WORDS {
        write!(page, "<th>{}</th>", word.word())?;
    }
    writeln!(page, "</tr></thead>")?;
    for (peer, before, now) in &comparison.counts {
        write!(page, "<tr><th>{}{}</th>", Key(report, peer), Text(report.label(peer)))?;
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
         <th>now</th><th>change</th><th>figure</th></tr></thead>"
    )?;
    let of_row = |one: &Change, other: &Change| one.row == other.row;
    for changes in comparison.changes.chunk_by(of_row) {
        writeln!(page, "<tbody>")?;
        for (index, change) in changes.iter().enumerate() {
            write!(page, "<tr>")?;
            if index == 0 {
                let title = change.row.title();
                write!(page, "<th rowspan=\"{}\">{}</th>", changes.len(), Text(&title))?;
            }
            write!(page, "<td>{}</td>", Text(&change.side))?;
            write!(
                page,
                "<td>{}{}</td>",
                Key(report, &change.peer),
                Text(report.label(&change.peer))
            )?;
            speed(page, report, &change.before)?;
            speed(page, report, &change.now)?;
            let percent = |ratio: f64| 100.0 * (ratio - 1.0);
            let moved = &change.moved;
            writeln!(
                page,
                "<td>{} {:+.1} % <small>{:+.1} to {:+.1}</small></td><td>{} {:+.1} %</td></tr>",
                if change.better() { '↑' } else { '↓' },
                percent(moved.ratio),
                percent(moved.low),
                percent(moved.high),
                change.counted(),
                percent(change.figure)
            )?;
        }
        writeln!(page, "</tbody>")?;
    }
    writeln!(page, "</table></div>")
}

fn speed(page: &mut String, report: &Report, speed: &Speed) -> fmt::Result {
    let (word, interval) = (speed.verdict.word(), &speed.interval);
    write!(
        page,
        "<td class=\"{word}\">{} {:.3} <small>{:.3}–{:.3}, {}</small></td>",
        sign(speed.verdict),
        interval.ratio,
        interval.low,
        interval.high,
        Text(report.label(&speed.against))
    )
}
