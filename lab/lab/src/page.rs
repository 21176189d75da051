//! The page: `report.html`, complete in itself.
//!
//! No script, no font, no picture from elsewhere. Must not know: how figures came about. Next:
//!
//! | to see | look at |
//! |---|---|
//! | what is shown | `report.rs` |
//! | how it looks on screens and paper | `page.css` |
//! | the verdicts at a glance | `page/verdicts.rs` |
//! | bars | `page/bars.rs` |
//! | curves | `plots.rs` |
//! | the figures of each row | `page/figures.rs` |
//! | machine and method | `page/method.rs` |
//! | what changed between two reports | `page/changes.rs` |

use std::fmt::{self, Write};

use lab_scenario::Task;

use crate::plots;
use crate::profile_page;
use crate::published;
use crate::report::{Report, RowReport};

mod bars;
pub(crate) mod changes;
mod figures;
mod method;
mod verdicts;

const STYLE: &str = concat!(include_str!("page.css"), include_str!("profile.css"));

/// The report as a page.
#[must_use]
pub fn render(report: &Report) -> String {
    document("TLS libraries side by side", |page| {
        writeln!(
            page,
            "<h1>TLS libraries side by side: {}</h1>",
            Text(&published::heading(report))
        )?;
        writeln!(page, "<p>{}</p>", Text(&published::meaning(report)))?;
        method::in_short(page, report)?;
        peers(page, report)?;
        published_table(page, report)?;
        verdicts::write(page, report)?;
        for section in sections(report) {
            writeln!(page, "<h2 id=\"{0}\">{0}</h2>", Text(&section[0].row.section))?;
            drawings(page, report, section)?;
            writeln!(page, "<h3>Figures: {}</h3>", Text(&section[0].row.section))?;
            for row in section {
                figures::write(page, report, row)?;
            }
        }
        profile_page::render(page, report)?;
        method::write(page, report)
    })
}

/// A page of this title around what `body` writes.
pub(crate) fn document(title: &str, body: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        Text(title)
    );
    let written = body(&mut page);
    debug_assert!(written.is_ok(), "a string takes everything");
    page.push_str("</body>\n</html>\n");
    page
}

/// The rows of each section.
fn sections(report: &Report) -> impl Iterator<Item = &[RowReport]> {
    report.rows.chunk_by(|one, other| one.row.section == other.row.section)
}

/// What a section looks like: curves where there is something to run along, else bars.
fn drawings(page: &mut String, report: &Report, section: &[RowReport]) -> fmt::Result {
    let along_sizes = section.iter().any(|row| row.row.write_size != section[0].row.write_size);
    match section[0].row.task {
        Task::Threads => section.iter().try_for_each(|row| plots::threads(page, report, row)),
        Task::Latency => section.iter().try_for_each(|row| plots::latency(page, report, row)),
        Task::Bulk if along_sizes => plots::sizes(page, report, section),
        _ => bars::write(page, report, section),
    }
}

/// Who took part: the key to the colours.
/// The table of published accounting, in the shape it was published in.
fn published_table(page: &mut String, report: &Report) -> fmt::Result {
    let Some(table) = published::table(report) else { return Ok(()) };
    write!(page, "<div class=\"wide\"><table>\n<tr><th>MB/s, handshakes/s</th>")?;
    for label in table.columns {
        write!(page, "<th>{}</th>", Text(label))?;
    }
    writeln!(page, "</tr>")?;
    for (name, figures) in table.lines {
        write!(page, "<tr><td>{}</td>", Text(&name))?;
        for figure in figures {
            write!(page, "<td>{figure}</td>")?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")
}

fn peers(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<ul class=\"peers\">")?;
    for peer in &report.peers {
        let key = Key(report, &peer.name);
        match (&peer.about, &peer.failure) {
            (Some(about), None) => writeln!(
                page,
                "<li>{key}<b>{}</b> {} {}, {}; {}</li>",
                Text(&peer.label),
                Text(&about.library),
                Text(&about.version),
                Text(&about.crypto),
                Text(&about.interface)
            )?,
            (_, failure) => writeln!(
                page,
                "<li>{key}<b>{}</b> took no part<pre>{}</pre></li>",
                Text(&peer.label),
                Text(failure.as_deref().unwrap_or_default())
            )?,
        }
    }
    writeln!(page, "</ul>")
}

/// Colours of peers in `page.css`.
const COLOURS: usize = 12;

/// The name of a peer's colour, `p` for areas and `l` for lines before it. The floor is no peer and grey.
pub(crate) fn colour(report: &Report, peer: &str) -> String {
    match report.peers.iter().position(|each| each.name == peer) {
        Some(place) if !report.peers[place].floor => (place % COLOURS).to_string(),
        _ => "floor".to_owned(),
    }
}

/// A peer's square of colour.
pub(crate) struct Key<'r>(pub(crate) &'r Report, pub(crate) &'r str);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<span class=\"key p{}\"></span>", colour(self.0, self.1))
    }
}

/// Text among HTML.
pub(crate) struct Text<'t>(pub(crate) &'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for each in self.0.chars() {
            match each {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_says_is_text() {
        assert_eq!(Text("<a href=\"x\">&").to_string(), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
