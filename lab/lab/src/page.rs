//! The page: `report.html`, complete in itself.
//!
//! No script, no font, no picture from elsewhere. Must not know: how figures came about. Next:
//! `report.rs` for what is shown, `page.css` for how it looks.

use std::fmt::{self, Write};

use lab_scenario::{Task, Unit};

use crate::plots;
use crate::profile_page;
use crate::report::{Figure, Report, RowReport, SideReport};
use crate::statistics::Verdict;
use crate::table::{rate, told_bytes};

const STYLE: &str = concat!(include_str!("page.css"), include_str!("profile.css"));

/// Bars, in the units of their drawing.
const BAR_WIDTH: f64 = 400.0;
const BAR_HEIGHT: f64 = 18.0;

/// The report as a page.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    let written = write_page(&mut page, report);
    debug_assert!(written.is_ok(), "a string takes everything");
    page
}

fn write_page(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>TLS libraries side by side</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
    )?;
    writeln!(page, "<h1>TLS libraries side by side</h1>")?;
    peers(page, report)?;
    verdicts(page, report)?;
    let mut section = "";
    for row in &report.rows {
        if section != row.row.section {
            section = &row.row.section;
            writeln!(page, "<h2>{}</h2>", Text(section))?;
        }
        figures(page, report, row)?;
    }
    profile_page::render(page, report)?;
    machine(page, report)?;
    writeln!(page, "</body>\n</html>")
}

fn peers(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<ul class=\"peers\">")?;
    for (index, peer) in report.peers.iter().enumerate() {
        let key = format!("<span class=\"key p{}\"></span>", index % COLOURS);
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

/// Colours of bars in `page.css`.
pub(crate) const COLOURS: usize = 8;

/// A verdict for each side of each row and each peer.
fn verdicts(page: &mut String, report: &Report) -> fmt::Result {
    let peers: Vec<_> =
        report.peers.iter().filter(|peer| !peer.floor && peer.failure.is_none()).collect();
    writeln!(
        page,
        "<h2>Verdicts</h2>\n<p>{LEGEND}</p>\n<div class=\"wide\"><table>\n<tr><th>row</th><th>side</th>"
    )?;
    for peer in &peers {
        write!(page, "<th>{}</th>", Text(&peer.label))?;
    }
    writeln!(page, "</tr>")?;
    for row in &report.rows {
        for side in &row.sides {
            write!(
                page,
                "<tr><td><a href=\"#{}\">{}</a>{}</td><td>{}</td>",
                Text(&row.row.id),
                Text(&row.title),
                if row.noisy { " <span class=\"noisy\">noisy</span>" } else { "" },
                Text(&side.side)
            )?;
            for peer in &peers {
                let figure = side.peers.iter().find(|figure| figure.peer == peer.name);
                verdict(page, row, &peer.name, figure)?;
            }
            writeln!(page, "</tr>")?;
        }
    }
    writeln!(page, "</table></div>")
}

const LEGEND: &str = "Speed against the best of the other peers, with its 95 % interval: above 1 is faster, of memory less. \
    A tie holds 1 in an interval within ±2 %; undecided means that the interval is wider, and that nothing is claimed. \
    In a noisy row other programs ran meanwhile.";

fn verdict(page: &mut String, row: &RowReport, peer: &str, figure: Option<&Figure>) -> fmt::Result {
    match figure.map(|figure| figure.speed.as_ref()) {
        Some(Some(speed)) => {
            let (interval, word) = (&speed.interval, speed.verdict.word());
            write!(
                page,
                "<td class=\"{}\">{word} {:.2} <small>{:.3}–{:.3}</small></td>",
                class(speed.verdict),
                interval.ratio,
                interval.low,
                interval.high
            )
        }
        Some(None) => write!(page, "<td>alone</td>"),
        None if row.failures.contains_key(peer) => write!(page, "<td class=\"failed\">failed</td>"),
        None => write!(page, "<td class=\"none\">–</td>"),
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ahead => "ahead",
        Verdict::Behind => "behind",
        Verdict::Tie => "tie",
        Verdict::Undecided => "undecided",
    }
}

/// A row: bars for each side, then what went wrong.
fn figures(page: &mut String, report: &Report, row: &RowReport) -> fmt::Result {
    writeln!(page, "<section id=\"{}\">\n<h3>{}</h3>", Text(&row.row.id), Text(&row.title))?;
    // One set of bars for each count of threads would be many.
    for side in row.sides.iter().filter(|_| row.row.task != Task::Threads) {
        bars(page, report, row, side)?;
    }
    match row.row.task {
        Task::Threads => plots::threads(page, report, row)?,
        Task::Latency => plots::latency(page, report, row)?,
        _ => {}
    }
    for (peer, what, value) in told_bytes(row) {
        let (label, value) = (report.label(peer), rate(row, what, value));
        writeln!(page, "<p>{}, {}: {value}</p>", Text(label), Text(what))?;
    }
    for (peer, why) in &row.failures {
        writeln!(
            page,
            "<p class=\"failed\">{} failed: {}</p>",
            Text(report.label(peer)),
            Text(why)
        )?;
    }
    for (peer, why) in &row.unable {
        writeln!(page, "<p>{} has no way to do this: {}</p>", Text(report.label(peer)), Text(why))?;
    }
    writeln!(
        page,
        "<p class=\"small\">{}: {} rounds in {:.0} s</p>\n</section>",
        Text(&row.row.id),
        row.rounds,
        row.seconds
    )
}

fn bars(page: &mut String, report: &Report, row: &RowReport, side: &SideReport) -> fmt::Result {
    let fast = matches!(row.row.unit(&side.side), Unit::Rate | Unit::Throughput);
    let length = |figure: &Figure| if fast { 1.0 / figure.nanoseconds } else { figure.nanoseconds };
    let longest = side.peers.iter().map(length).fold(0.0, f64::max);
    let hint = if fast { "" } else { " (less is better)" };
    writeln!(page, "<h4>{}{hint}</h4>\n<table class=\"bars\">", Text(&side.side))?;
    for figure in &side.peers {
        let width = BAR_WIDTH * length(figure) / longest;
        let place = report.peers.iter().position(|peer| peer.name == figure.peer);
        let floors = figure.floors.map(|floors| format!("{:.2} floors", floors.ratio));
        writeln!(
            page,
            "<tr><td>{}</td><td><svg viewBox=\"0 0 {BAR_WIDTH} {BAR_HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\
             <rect class=\"p{}\" width=\"{width:.1}\" height=\"{BAR_HEIGHT}\"/></svg></td>\
             <td>{}</td><td class=\"small\">{}</td></tr>",
            Text(report.label(&figure.peer)),
            rate(row, &side.side, figure.nanoseconds),
            place.unwrap_or_default() % COLOURS,
            rate(row, &side.side, figure.nanoseconds),
            floors.unwrap_or_default(),
        )?;
    }
    writeln!(page, "</table>")
}

fn machine(page: &mut String, report: &Report) -> fmt::Result {
    let (machine, settings) = (&report.machine, &report.settings);
    let kind = if machine.virtual_machine { " (virtual machine)" } else { "" };
    let pin = settings.pin.map_or("none".to_owned(), |cpu| format!("CPU {cpu}"));
    #[allow(clippy::cast_precision_loss)]
    let memory = machine.memory as f64 / f64::from(1 << 30);
    let facts = [
        ("processor", format!("{}, {} logical{kind}", machine.cpu, machine.cpus)),
        ("extensions", machine.features.join(" ")),
        ("governor; SMT", format!("{}; {}", machine.governor, machine.smt)),
        ("memory", format!("{memory:.1} GiB")),
        ("system", format!("{}, Linux {}", machine.system, machine.kernel)),
        ("compilers", format!("{}; {}", machine.rustc, machine.cc)),
        ("commit", machine.commit.clone()),
        ("load at the start", machine.load.clone()),
        ("mode", format!("{}, {} accounting", settings.mode, settings.accounting)),
        ("rounds", format!("{} at least, {} ms each", settings.rounds, settings.measure_ms)),
        ("allocator; pin; seed", format!("{}; {pin}; {}", settings.allocator, settings.seed)),
        ("cargo profile", settings.profile.clone()),
        ("began; ended", format!("{} s; {} s since 1970", report.started, report.updated)),
    ];
    writeln!(page, "<h2>Machine and method</h2>\n<p>{METHOD}</p>\n<table>")?;
    for (name, value) in facts {
        writeln!(page, "<tr><td>{name}</td><td>{}</td></tr>", Text(&value))?;
    }
    writeln!(page, "</table>")
}

const METHOD: &str = "Both sides in one thread, in memory, each side's own work timed. Each round measures every peer once, \
    in random order, in a process of its own. Figures are medians over rounds; ratios are medians of the ratios within rounds, \
    their intervals by bootstrap. lab/README.md tells all of it.";

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
