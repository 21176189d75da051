//! The comparison of two reports as text.

use std::fmt::Write;

use crate::report::comparison::{Change, Comparison};
use crate::report::{Report, SpeedRatio};
use crate::statistics::Verdict;

/// The changes from `old` to `new`.
#[must_use]
pub fn render(old: &Report, new: &Report) -> String {
    text(&Comparison::of(old, new))
}

fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for warning in &comparison.warnings {
        _ = writeln!(text, "differs: {warning}");
    }
    for (peer, before, now) in &comparison.counts {
        let counts = Verdict::ALL.iter().zip(before.iter().zip(now));
        let counts =
            counts.map(|(word, (before, now))| format!("{} {before} -> {now}", word.word()));
        _ = writeln!(text, "{peer:<18} {}", counts.collect::<Vec<_>>().join(", "));
    }
    for change in &comparison.changes {
        let (row, side, peer) = (&change.row.id, &change.side, &change.peer);
        _ = writeln!(text, "{row:<28} {side:<8} {peer:<10} {}", describe(change));
    }
    for (ids, what) in
        [(&comparison.added, "not in the old"), (&comparison.removed, "not in the new")]
    {
        if !ids.is_empty() {
            _ = writeln!(text, "{what} report: {}", ids.join(", "));
        }
    }
    _ = writeln!(text, "{} figures changed, {} did not", comparison.changes.len(), comparison.same);
    text
}

fn describe(change: &Change) -> String {
    let said = |speed: &SpeedRatio| {
        let interval = &speed.interval;
        format!(
            "{} {:.3} [{:.3}, {:.3}] against {}",
            speed.verdict.word(),
            interval.ratio,
            interval.low,
            interval.high,
            speed.against
        )
    };
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    format!(
        "{} -> {} ({:+.1} % [{:+.1}, {:+.1}]; {} {:+.1} %)",
        said(&change.before),
        said(&change.now),
        percent(change.ratio_change.ratio),
        percent(change.ratio_change.low),
        percent(change.ratio_change.high),
        change.counted(),
        percent(change.figure),
    )
}
