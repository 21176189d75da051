//! A report as a table for the terminal.

use std::fmt::Write;

use lab_scenario::Task;

use crate::output::format::{PERCENTILES, percentiles, rate, scaling, unjudged_bytes};

use crate::output::published;
use crate::report::{Figure, Report, RowReport};

/// The whole report.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for peer in &report.peers {
        let line = match (&peer.about, &peer.failure) {
            (Some(about), None) => format!(
                "{} {}, {}; {}; {}",
                about.library, about.version, about.crypto, about.interface, about.build
            ),
            (_, Some(failure)) => format!("unavailable: {}", first_line(failure)),
            (None, None) => "unavailable".to_owned(),
        };
        _ = writeln!(text, "{:<12} {line}", peer.name);
    }
    let machine = &report.machine;
    _ = writeln!(
        text,
        "on {}, {} CPUs{}, {}, allocator: {}",
        machine.cpu,
        machine.cpus,
        if machine.virtual_machine { " (virtual machine)" } else { "" },
        machine.system,
        report.settings.allocator,
    );
    text.push_str(&published::text(report));
    let mut section = "";
    for row in &report.rows {
        if section != row.row.section {
            section = &row.row.section;
            _ = writeln!(text, "\n{section}");
        }
        text.push_str(&render_row(row));
    }
    let noisy = report.noisy_rows();
    if noisy > 0 {
        _ = writeln!(
            text,
            "\n{noisy} of {} rows are noisy (!): other programs were running",
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
        let figures: Vec<_> =
            side.peers.iter().map(|figure| figure_text(row, &side.side, figure)).collect();
        _ = writeln!(text, "    {:<8} {}", side.side, figures.join("  "));
    }
    for (peer, sides) in &row.distributions {
        for (side, distribution) in sides {
            let names = PERCENTILES.iter().map(|(name, _)| *name).chain(["max"]);
            let texts: Vec<_> = names
                .zip(percentiles(distribution))
                .map(|(name, time)| format!("{name} {time}"))
                .collect();
            _ = writeln!(text, "    {peer}, {side}: {}", texts.join(", "));
        }
    }
    for (peer, side, value) in unjudged_bytes(row) {
        _ = writeln!(text, "    {peer}, {side}: {}", rate(row, side, value));
    }
    for (peer, why) in &row.failures {
        _ = writeln!(text, "    {peer} FAILED: {}", first_line(why));
    }
    for (peer, why) in &row.unable {
        _ = writeln!(text, "    {peer} does not support this: {}", first_line(why));
    }
    text
}

fn figure_text(row: &RowReport, side: &str, figure: &Figure) -> String {
    let mut text = format!("{} {}", figure.peer, rate(row, side, figure.nanoseconds));
    if row.row.task == Task::Threads {
        if let Some(scaling) = scaling(row, &figure.peer, 1e9 / figure.nanoseconds) {
            _ = write!(text, " (x{scaling:.2})");
        }
    }
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
        _ = write!(text, ", {:.2} x floor", floors.ratio);
    }
    text.push(';');
    text
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
