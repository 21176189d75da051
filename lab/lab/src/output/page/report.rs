//! The page `report.html`. It is self-contained: no scripts, fonts or images from elsewhere.

use std::fmt::{self, Write};

use lab_scenario::Task;

use super::html::{ColourKey, Escaped, document};
use super::{bars, figures, method, plots, profile, verdicts};
use crate::output::published;
use crate::report::{Report, RowReport};

/// Renders the report.
#[must_use]
pub fn render(report: &Report) -> String {
    document("TLS benchmark", |page| {
        writeln!(page, "<h1>TLS benchmark: {}</h1>", Escaped(&published::heading(report)))?;
        writeln!(page, "<p>{}</p>", Escaped(&published::meaning(report)))?;
        method::in_short(page, report)?;
        peers(page, report)?;
        published_table(page, report)?;
        verdicts::write(page, report)?;
        for section in sections(report) {
            writeln!(page, "<h2 id=\"{0}\">{0}</h2>", Escaped(&section[0].row.section))?;
            drawings(page, report, section)?;
            writeln!(page, "<h3>Results: {}</h3>", Escaped(&section[0].row.section))?;
            for row in section {
                figures::write(page, report, row)?;
            }
        }
        profile::render(page, report)?;
        method::write(page, report)
    })
}

/// The rows of each section.
fn sections(report: &Report) -> impl Iterator<Item = &[RowReport]> {
    report.rows.chunk_by(|one, other| one.row.section == other.row.section)
}

/// The charts of a section: line charts for threads, latency and write sizes, otherwise bars.
fn drawings(page: &mut String, report: &Report, section: &[RowReport]) -> fmt::Result {
    let along_sizes = section.iter().any(|row| row.row.write_size != section[0].row.write_size);
    match section[0].row.task {
        Task::Threads => section.iter().try_for_each(|row| plots::threads(page, report, row)),
        Task::Latency => section.iter().try_for_each(|row| plots::latency(page, report, row)),
        Task::Bulk if along_sizes => plots::sizes(page, report, section),
        _ => bars::write(page, report, section),
    }
}

/// The table of published accounting, in the form in which it was published.
fn published_table(page: &mut String, report: &Report) -> fmt::Result {
    let Some(table) = published::table(report) else { return Ok(()) };
    write!(page, "<div class=\"wide\"><table>\n<tr><th>MB/s, handshakes/s</th>")?;
    for label in table.columns {
        write!(page, "<th>{}</th>", Escaped(label))?;
    }
    writeln!(page, "</tr>")?;
    for (name, figures) in table.lines {
        write!(page, "<tr><td>{}</td>", Escaped(&name))?;
        for figure in figures {
            write!(page, "<td>{figure}</td>")?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")
}

/// The peers with their colours and versions.
fn peers(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<ul class=\"peers\">")?;
    for peer in &report.peers {
        let key = ColourKey(report, &peer.name);
        match (&peer.about, &peer.failure) {
            (Some(about), None) => writeln!(
                page,
                "<li>{key}<b>{}</b> {} {}, {}; {}</li>",
                Escaped(&peer.label),
                Escaped(&about.library),
                Escaped(&about.version),
                Escaped(&about.crypto),
                Escaped(&about.interface)
            )?,
            (_, failure) => writeln!(
                page,
                "<li>{key}<b>{}</b> unavailable<pre>{}</pre></li>",
                Escaped(&peer.label),
                Escaped(failure.as_deref().unwrap_or_default())
            )?,
        }
    }
    writeln!(page, "</ul>")
}
