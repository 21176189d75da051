//! Description of the accounting of a report, and the table of published accounting.
//!
//! The table has the form of the report of July 2025: a line for each case and side, a column for
//! each library, in MB/s of 2^20 bytes and handshakes per second.

use std::fmt::Write;

use lab_scenario::{Accounting, Program, Unit};

use crate::report::{PeerReport, Report, RowReport};

/// The cases, named as in the published report. That report has TLS 1.3 with the hybrid group.
/// Earlier reports had X25519.
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

/// The columns of the published report, in its order. They precede other peers.
const COLUMNS: [&str; 4] = ["boringssl", "openssl", "rustls", "tercel"];

/// A heading with the name of the accounting, in capitals.
#[must_use]
pub fn heading(report: &Report) -> String {
    format!("{} ACCOUNTING", report.settings.accounting.name().to_uppercase())
}

/// A short description of the accounting.
#[must_use]
pub fn meaning(report: &Report) -> String {
    if report.settings.accounting == Accounting::Neutral {
        return "Every library is timed in the same way: its own work, without transport."
            .to_owned();
    }
    let follow = |program: Program| {
        let peers = report.peers.iter().filter(|peer| program_of(peer) == Some(program));
        let labels: Vec<_> = peers.map(|peer| peer.label.as_str()).collect();
        (!labels.is_empty()).then(|| format!("{} like {}", labels.join(", "), program.name()))
    };
    let programs = [Program::OpensslBench, Program::RustlsBench].into_iter().filter_map(follow);
    format!(
        "Each library is timed like the program behind its published results: {}. The programs time different \
         things, so results of libraries that follow different programs are not comparable.",
        programs.collect::<Vec<_>>().join("; ")
    )
}

fn program_of(peer: &PeerReport) -> Option<Program> {
    peer.about.as_ref().and_then(|about| about.program)
}

/// The table as text.
pub struct Table<'r> {
    /// The column heads: libraries.
    pub columns: Vec<&'r str>,
    /// Case and side, and the values of all columns. A missing value is empty.
    pub lines: Vec<(String, Vec<String>)>,
}

/// The table; `None` with another accounting or without measured cases.
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

/// A value in the unit of the published report.
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

/// Heading, description and Markdown table for the terminal.
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
