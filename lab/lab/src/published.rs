//! What a report says of its accounting, and the table of published accounting in the shape of the document of
//! 2025: a line for each case and side, a column for each library, MB/s of 2^20 bytes and handshakes a second.
//!
//! Must not know: how figures came about. Next: `report.rs`; `accounting.rs` of the scenario.

use std::fmt::Write;

use lab_scenario::{Accounting, Program, Unit};

use crate::report::{PeerReport, Report, RowReport};

/// The cases in the document's words; the handshakes of TLS 1.3 are its with the hybrid group. Those with X25519
/// are what it had before.
const CASES: [(&str, &str); 12] = [
    ("transfer, 1.2, aes-128-gcm", "bulk-12-aes128"),
    ("transfer, 1.3, aes-256-gcm", "bulk-13-aes256"),
    ("full handshakes, 1.2, rsa", "full-12-rsa2048-x25519"),
    ("full handshakes, 1.2, ecdsa", "full-12-ecdsa-p256-x25519"),
    ("full handshakes, 1.3, rsa", "full-13-rsa2048-hybrid"),
    ("full handshakes, 1.3, ecdsa", "full-13-ecdsa-p256-hybrid"),
    ("resumed handshakes, 1.2, by id", "resumed-12-stateful"),
    ("resumed handshakes, 1.2, by ticket", "resumed-12-stateless"),
    ("resumed handshakes, 1.3", "resumed-13-stateless-hybrid"),
    ("full handshakes, 1.3 X25519, rsa", "full-13-rsa2048-x25519"),
    ("full handshakes, 1.3 X25519, ecdsa", "full-13-ecdsa-p256-x25519"),
    ("resumed handshakes, 1.3 X25519", "resumed-13-stateless-x25519"),
];

/// The document's columns come first, in its order.
const COLUMNS: [&str; 4] = ["boringssl", "openssl", "rustls", "tercel"];

/// The accounting's name in large letters.
#[must_use]
pub fn heading(report: &Report) -> String {
    format!("{} ACCOUNTING", report.settings.accounting.name().to_uppercase())
}

/// What the accounting means, in a few words.
#[must_use]
pub fn meaning(report: &Report) -> String {
    if report.settings.accounting == Accounting::Neutral {
        return "Every library is timed alike: what it does itself, without transport.".to_owned();
    }
    let follow = |program: Program| {
        let peers = report.peers.iter().filter(|peer| program_of(peer) == Some(program));
        let labels: Vec<_> = peers.map(|peer| peer.label.as_str()).collect();
        (!labels.is_empty()).then(|| format!("{} as {} does it", labels.join(", "), program.name()))
    };
    let programs = [Program::OpensslBench, Program::RustlsBench].into_iter().filter_map(follow);
    format!(
        "Each library is timed as the program behind its published figures does it: {}. The programs count \
         different things, so figures of libraries that follow different programs are no comparison.",
        programs.collect::<Vec<_>>().join("; ")
    )
}

fn program_of(peer: &PeerReport) -> Option<Program> {
    peer.about.as_ref().and_then(|about| about.program)
}

/// The table, as words.
pub struct Table<'r> {
    /// The libraries: a column each.
    pub columns: Vec<&'r str>,
    /// Case and side, and a figure for each column; an empty one where there is none.
    pub lines: Vec<(String, Vec<String>)>,
}

/// The table. None in another accounting, or if nothing of it was measured.
#[must_use]
pub fn table(report: &Report) -> Option<Table<'_>> {
    if report.settings.accounting != Accounting::Published {
        return None;
    }
    let mut peers: Vec<_> = report.peers.iter().filter(|peer| program_of(peer).is_some()).collect();
    let place = |peer: &PeerReport| COLUMNS.iter().position(|column| *column == peer.name);
    peers.sort_by_key(|peer| place(peer).unwrap_or(COLUMNS.len()));
    let mut lines = Vec::new();
    for (case, id) in CASES {
        let Some(row) = report.rows.iter().find(|row| row.row.id == id) else { continue };
        for side in &row.sides {
            let name = match side.side.as_str() {
                "send" => "sending",
                "receive" => "receiving",
                other => other,
            };
            let figures =
                peers.iter().map(|peer| figure(row, &side.side, &peer.name).unwrap_or_default());
            lines.push((format!("{case}, {name}"), figures.collect()));
        }
    }
    let columns = peers.iter().map(|peer| peer.label.as_str()).collect();
    (!lines.is_empty()).then_some(Table { columns, lines })
}

/// A figure in the document's unit.
#[allow(clippy::cast_precision_loss)]
fn figure(row: &RowReport, side: &str, peer: &str) -> Option<String> {
    let side = row.sides.iter().find(|each| each.side == side)?;
    let time = side.peers.iter().find(|figure| figure.peer == peer)?.nanoseconds;
    let of_one = match row.row.unit(&side.side) {
        Unit::Throughput => row.row.write_size as f64 / f64::from(1 << 20),
        _ => 1.0,
    };
    Some(format!("{:.2}", of_one * 1e9 / time))
}

/// Heading, meaning and table for the terminal, the table in the document's Markdown.
#[must_use]
pub fn text(report: &Report) -> String {
    let heading = heading(report);
    let rule = "=".repeat(heading.len() + 8);
    let mut text = format!("{rule}\n=== {heading} ===\n{rule}\n{}\n", meaning(report));
    if let Some(table) = table(report) {
        _ = writeln!(text, "\n| MB/s, handshakes/s | {} |", table.columns.join(" | "));
        _ = writeln!(text, "| -- |{}", " -- |".repeat(table.columns.len()));
        for (name, figures) in table.lines {
            _ = writeln!(text, "| {name} | {} |", figures.join(" | "));
        }
    }
    text
}
