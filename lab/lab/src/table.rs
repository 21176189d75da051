//! The table in the terminal.
//!
//! Must not know: how figures came about. Next: `report.rs`.

use std::fmt::Write;

use lab_scenario::Task;

use crate::report::{Figure, Report, RowReport};

/// The whole report as text.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for peer in &report.peers {
        let line = match (&peer.about, &peer.failure) {
            (Some(about), None) => format!(
                "{} {}, {}; {}; {}",
                about.library, about.version, about.crypto, about.interface, about.build
            ),
            (_, Some(failure)) => format!("takes no part: {}", first_line(failure)),
            (None, None) => "takes no part".to_owned(),
        };
        _ = writeln!(text, "{:<12} {line}", peer.name);
    }
    let machine = &report.machine;
    _ = writeln!(
        text,
        "on {}, {} CPUs{}, {}, allocator: {}",
        machine.cpu,
        machine.cpus,
        if machine.virtual_machine { " of a virtual machine" } else { "" },
        machine.system,
        report.settings.allocator,
    );
    let mut section = "";
    for row in &report.rows {
        if section != row.row.section {
            section = &row.row.section;
            _ = writeln!(text, "\n{section}");
        }
        text.push_str(&render_row(row));
    }
    let noisy = report.rows.iter().filter(|row| row.noisy).count();
    if noisy > 0 {
        _ = writeln!(
            text,
            "\n{noisy} of {} rows are noisy (!): other programs ran meanwhile",
            report.rows.len()
        );
    }
    text
}

/// A row: its title, then a line for each side.
#[must_use]
pub fn render_row(row: &RowReport) -> String {
    let mut text = format!(
        "  {}  ({}, {} rounds{})\n",
        row.title,
        row.row.id,
        row.rounds,
        if row.noisy { ", noisy !" } else { "" }
    );
    for side in &row.sides {
        let figures: Vec<_> = side.peers.iter().map(|figure| figure_text(row, figure)).collect();
        _ = writeln!(text, "    {:<8} {}", side.side, figures.join("  "));
    }
    for (peer, why) in &row.failures {
        _ = writeln!(text, "    {peer} FAILED: {}", first_line(why));
    }
    for (peer, why) in &row.unable {
        _ = writeln!(text, "    {peer} has no way to do this: {}", first_line(why));
    }
    text
}

fn figure_text(row: &RowReport, figure: &Figure) -> String {
    let mut text = format!("{} {}", figure.peer, rate(row, figure.nanoseconds));
    if let Some(speed) = &figure.speed {
        let interval = &speed.interval;
        _ = write!(
            text,
            " {} {:.3} [{:.3}, {:.3}]",
            speed.verdict.word(),
            interval.ratio,
            interval.low,
            interval.high
        );
    }
    if let Some(floors) = &figure.floors {
        _ = write!(text, " = {:.2} floors", floors.ratio);
    }
    text.push(';');
    text
}

/// Times as people say them: MB/s (of 2^20 bytes) for bulk, otherwise how many in a second.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn rate(row: &RowReport, nanoseconds: f64) -> String {
    match row.row.task {
        Task::Bulk => {
            let bytes_per_second = row.row.write_size as f64 * 1e9 / nanoseconds;
            format!("{:.0} MB/s", bytes_per_second / f64::from(1 << 20))
        }
        Task::Handshake | Task::SetUp => format!("{:.0}/s", 1e9 / nanoseconds),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
