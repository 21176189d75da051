//! What changed between two reports.
//!
//! Must not know: how figures came about. Next: `report.rs`.

use std::fmt::Write;

use lab_scenario::Unit;

use crate::report::{Figure, Report, RowReport};

/// A change of the ratio to the best other peer below this is not worth a line.
const WORTH_TELLING: f64 = 0.02;

/// The changes from `old` to `new`, as text.
///
/// Speeds against the best other peer are compared, since these hold from one day to the next; times are
/// told beside them.
#[must_use]
pub fn render(old: &Report, new: &Report) -> String {
    let mut text = String::new();
    if old.machine.cpu != new.machine.cpu {
        _ = writeln!(text, "other machines: {} and {}", old.machine.cpu, new.machine.cpu);
    }
    let (mut told, mut same) = (0, 0);
    for row in &new.rows {
        let Some(before) = old.rows.iter().find(|each| each.row == row.row) else {
            _ = writeln!(text, "{}: not in the old report", row.row.id);
            continue;
        };
        for change in changes(before, row) {
            match change {
                Some(line) => {
                    told += 1;
                    _ = writeln!(text, "{line}");
                }
                None => same += 1,
            }
        }
    }
    _ = writeln!(text, "{told} figures changed, {same} did not");
    text
}

/// For each figure that is in both rows: its line, or `None` if it did not change.
fn changes(old: &RowReport, new: &RowReport) -> Vec<Option<String>> {
    let mut lines = Vec::new();
    for side in &new.sides {
        let Some(before) = old.sides.iter().find(|each| each.side == side.side) else { continue };
        for figure in &side.peers {
            let Some(before) = before.peers.iter().find(|each| each.peer == figure.peer) else {
                continue;
            };
            let what = match new.row.unit(&side.side) {
                Unit::Bytes => "size",
                Unit::Count | Unit::Instructions => "count",
                Unit::Rate | Unit::Throughput | Unit::Time => "time",
            };
            let line = change(before, figure, what);
            lines.push(line.map(|line| {
                format!("{:<28} {:<8} {:<10} {line}", new.row.id, side.side, figure.peer)
            }));
        }
    }
    lines
}

fn change(old: &Figure, new: &Figure, what: &str) -> Option<String> {
    let (before, now) = (old.speed.as_ref()?, new.speed.as_ref()?);
    let moved = now.interval.ratio / before.interval.ratio;
    let verdict = before.verdict != now.verdict;
    if (moved - 1.0).abs() < WORTH_TELLING && !verdict && before.against == now.against {
        return None;
    }
    Some(format!(
        "{} {:.3} against {} -> {} {:.3} against {} ({:+.1} %; {what} {:+.1} %)",
        before.verdict.word(),
        before.interval.ratio,
        before.against,
        now.verdict.word(),
        now.interval.ratio,
        now.against,
        100.0 * (moved - 1.0),
        100.0 * (new.nanoseconds / old.nanoseconds - 1.0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Speed;
    use crate::statistics::Interval;

    fn figure(ratio: f64) -> Figure {
        let interval = Interval { ratio, low: ratio - 0.005, high: ratio + 0.005, rounds: 9 };
        Figure {
            peer: "a".to_owned(),
            nanoseconds: 100.0 / ratio,
            quartiles: [0.0, 0.0],
            rounds: Vec::new(),
            parts: std::collections::BTreeMap::new(),
            speed: Some(Speed { against: "b".to_owned(), interval, verdict: interval.verdict() }),
            floors: None,
        }
    }

    #[test]
    fn a_change_of_ratio_or_verdict_is_told() {
        assert_eq!(change(&figure(1.10), &figure(1.105), "time"), None);
        let line = change(&figure(1.10), &figure(1.21), "time").unwrap();
        assert!(line.contains("+10.0 %"), "{line}");
        let line = change(&figure(1.002), &figure(1.01), "time").unwrap();
        assert!(line.contains("tie") && line.contains("ahead"), "{line}");
    }
}
