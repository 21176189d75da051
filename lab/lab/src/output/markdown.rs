//! A report as a Markdown table.

use std::fmt::{self, Write};

use anyhow::{Context, Result};

use crate::output::format::rate;
use crate::report::{PeerReport, Report, RowReport, SideReport};

/// Renders a line for each side of each row: the results of all peers, and the ratio of the judged
/// peer's result to the best result of the other peers. The judged peer is `of`, or else the first
/// peer of the report.
///
/// # Errors
/// If there is no such peer.
pub fn render(report: &Report, of: Option<&str>) -> Result<String> {
    let peers: Vec<_> = report.peers.iter().filter(|peer| peer.failure.is_none()).collect();
    let judged = match of {
        Some(name) => peers.iter().find(|peer| peer.name == name && !peer.floor),
        None => peers.iter().find(|peer| !peer.floor),
    };
    let judged = judged.with_context(|| format!("no such peer: {}", of.unwrap_or_default()))?;
    let mut text = String::new();
    write_table(&mut text, report, &peers, judged)?;
    Ok(text)
}

fn write_table(
    text: &mut String,
    report: &Report,
    peers: &[&PeerReport],
    judged: &PeerReport,
) -> fmt::Result {
    write!(text, "| row | side |")?;
    for peer in peers {
        write!(text, " {} |", cell(&peer.label))?;
    }
    writeln!(text, " {}: speed ÷ best other | | time ÷ floor |", cell(&judged.label))?;
    write!(text, "|---|---|")?;
    for _ in peers {
        write!(text, "---:|")?;
    }
    writeln!(text, "---|---|---:|")?;
    for row in &report.rows {
        for side in &row.sides {
            write_side(text, row, side, peers, judged)?;
        }
    }
    Ok(())
}

fn write_side(
    text: &mut String,
    row: &RowReport,
    side: &SideReport,
    peers: &[&PeerReport],
    judged: &PeerReport,
) -> fmt::Result {
    let figure = |peer: &PeerReport| side.peers.iter().find(|figure| figure.peer == peer.name);
    let noisy = if row.noisy { " (noisy)" } else { "" };
    write!(text, "| {}{noisy} | {} |", cell(&row.title), side.side)?;
    for peer in peers {
        match figure(peer) {
            Some(figure) => write!(text, " {} |", rate(row, &side.side, figure.nanoseconds))?,
            None if row.failures.contains_key(&peer.name) => write!(text, " failed |")?,
            None => write!(text, " – |")?,
        }
    }
    match figure(judged).and_then(|figure| figure.speed.as_ref()) {
        Some(speed) => {
            let interval = &speed.interval;
            let (ratio, low, high) = (interval.ratio, interval.low, interval.high);
            write!(text, " {ratio:.3} [{low:.3}, {high:.3}] | {} |", speed.verdict.word())?;
        }
        None => write!(text, " – | – |")?,
    }
    let floors = figure(judged).and_then(|figure| figure.floors.as_ref());
    let floors = floors.map_or_else(|| "–".to_owned(), |floors| format!("{:.2}", floors.ratio));
    writeln!(text, " {floors} |")
}

/// Escaped text of a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
