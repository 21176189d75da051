//! What changed between two reports.
//!
//! What holds from one day to the next are ratios to another peer of the same run, so these are compared,
//! and times are told beside them. A ratio has changed if the interval of its change does not hold 1, and
//! the change is worth telling. Must not know: how figures came about. Next: `report.rs`;
//! `compare/differences.rs` for what else is different, `page/changes.rs` for the page.

use std::fmt::Write;

use lab_scenario::{Row, Unit};

use crate::page::changes;
use crate::report::{Report, RowReport, Speed};
use crate::statistics::{Interval, Verdict};

mod differences;

/// A change of the ratio to the best other peer below this is not worth a line.
const WORTH_TELLING: f64 = 0.02;

/// The order in which verdicts are counted.
pub(crate) const WORDS: [Verdict; 4] =
    [Verdict::Ahead, Verdict::Tie, Verdict::Undecided, Verdict::Behind];

/// What changed.
pub(crate) struct Comparison {
    /// What makes the two hard to compare.
    pub(crate) warnings: Vec<String>,
    /// For each peer of both, how many sides have each of [`WORDS`], before and now, among those in both.
    pub(crate) counts: Vec<(String, [usize; 4], [usize; 4])>,
    pub(crate) changes: Vec<Change>,
    /// Figures in both that did not change.
    pub(crate) same: usize,
    /// Ids of rows that one of the reports has not, or asks otherwise.
    pub(crate) appeared: Vec<String>,
    pub(crate) gone: Vec<String>,
}

/// A figure that changed.
pub(crate) struct Change {
    pub(crate) row: Row,
    pub(crate) side: String,
    pub(crate) peer: String,
    pub(crate) before: Speed,
    pub(crate) now: Speed,
    /// By what the ratio to the best other peer was multiplied.
    pub(crate) moved: Interval,
    /// By what the figure itself was.
    pub(crate) figure: f64,
}

/// The changes from `old` to `new`, as text.
#[must_use]
pub fn render(old: &Report, new: &Report) -> String {
    text(&Comparison::of(old, new))
}

/// The same as a page.
#[must_use]
pub fn page(old: &Report, new: &Report) -> String {
    changes::render(old, new, &Comparison::of(old, new))
}

impl Comparison {
    fn of(old: &Report, new: &Report) -> Self {
        let twin = |row: &RowReport| old.rows.iter().find(|each| each.row == row.row);
        let missing = |from: &Report, of: &Report| -> Vec<String> {
            let has = |row: &Row| of.rows.iter().any(|each| each.row == *row);
            let rows = from.rows.iter().map(|row| &row.row).filter(|row| !has(row));
            rows.map(|row| row.id.clone()).collect()
        };
        let mut comparison = Self {
            warnings: differences::told(old, new),
            counts: Vec::new(),
            changes: Vec::new(),
            same: 0,
            appeared: missing(new, old),
            gone: missing(old, new),
        };
        for row in &new.rows {
            if let Some(before) = twin(row) {
                comparison.add(before, row);
            }
        }
        comparison
    }

    fn add(&mut self, old: &RowReport, new: &RowReport) {
        for side in &new.sides {
            let Some(before) = old.sides.iter().find(|each| each.side == side.side) else {
                continue;
            };
            for figure in &side.peers {
                let peer = &figure.peer;
                let Some(twin) = before.peers.iter().find(|each| each.peer == *peer) else {
                    continue;
                };
                let Some((before, now)) = twin.speed.as_ref().zip(figure.speed.as_ref()) else {
                    continue;
                };
                self.count(peer, before.verdict, now.verdict);
                let moved = quotient(&now.interval, &before.interval);
                if !is_change(before, now, &moved) {
                    self.same += 1;
                    continue;
                }
                self.changes.push(Change {
                    row: new.row.clone(),
                    side: side.side.clone(),
                    peer: peer.clone(),
                    before: before.clone(),
                    now: now.clone(),
                    moved,
                    figure: figure.nanoseconds / twin.nanoseconds,
                });
            }
        }
    }

    fn count(&mut self, peer: &str, before: Verdict, now: Verdict) {
        let known = self.counts.iter().position(|(each, ..)| each == peer);
        let place = known.unwrap_or_else(|| {
            self.counts.push((peer.to_owned(), [0; 4], [0; 4]));
            self.counts.len() - 1
        });
        let (_, then, today) = &mut self.counts[place];
        for (counts, verdict) in [(then, before), (today, now)] {
            for (count, _) in counts.iter_mut().zip(WORDS).filter(|(_, word)| *word == verdict) {
                *count += 1;
            }
        }
    }
}

/// The interval of `a / b`, which were measured apart: half-widths add up as those of independent errors do.
fn quotient(a: &Interval, b: &Interval) -> Interval {
    let ratio = a.ratio / b.ratio;
    let apart = |one: f64, other: f64| one.hypot(other);
    let above = apart((a.high / a.ratio).ln(), (b.ratio / b.low).ln());
    let below = apart((a.ratio / a.low).ln(), (b.high / b.ratio).ln());
    let rounds = a.rounds.min(b.rounds);
    Interval { ratio, low: ratio * (-below).exp(), high: ratio * above.exp(), rounds }
}

fn is_change(before: &Speed, now: &Speed, moved: &Interval) -> bool {
    let clear = moved.low > 1.0 || moved.high < 1.0;
    before.verdict != now.verdict || (clear && (moved.ratio - 1.0).abs() >= WORTH_TELLING)
}

fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for warning in &comparison.warnings {
        _ = writeln!(text, "differs: {warning}");
    }
    for (peer, before, now) in &comparison.counts {
        let counts = WORDS.iter().zip(before.iter().zip(now));
        let counts =
            counts.map(|(word, (before, now))| format!("{} {before} -> {now}", word.word()));
        _ = writeln!(text, "{peer:<18} {}", counts.collect::<Vec<_>>().join(", "));
    }
    for change in &comparison.changes {
        let (row, side, peer) = (&change.row.id, &change.side, &change.peer);
        _ = writeln!(text, "{row:<28} {side:<8} {peer:<10} {}", told(change));
    }
    for (ids, what) in
        [(&comparison.appeared, "not in the old"), (&comparison.gone, "not in the new")]
    {
        if !ids.is_empty() {
            _ = writeln!(text, "{what} report: {}", ids.join(", "));
        }
    }
    _ = writeln!(text, "{} figures changed, {} did not", comparison.changes.len(), comparison.same);
    text
}

fn told(change: &Change) -> String {
    let said = |speed: &Speed| {
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
        percent(change.moved.ratio),
        percent(change.moved.low),
        percent(change.moved.high),
        change.counted(),
        percent(change.figure),
    )
}

impl Change {
    /// What its figure is.
    pub(crate) fn counted(&self) -> &'static str {
        match self.row.unit(&self.side) {
            Unit::Bytes => "size",
            Unit::Count | Unit::Instructions => "count",
            _ => "time",
        }
    }

    /// Whether it is for the better.
    pub(crate) fn better(&self) -> bool {
        self.moved.ratio > 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(ratio: f64, half: f64) -> Speed {
        let interval = Interval { ratio, low: ratio - half, high: ratio + half, rounds: 9 };
        Speed { against: "b".to_owned(), interval, verdict: interval.verdict() }
    }

    fn changed(before: &Speed, now: &Speed) -> bool {
        is_change(before, now, &quotient(&now.interval, &before.interval))
    }

    #[test]
    fn a_change_of_ratio_or_verdict_is_told() {
        assert!(!changed(&speed(1.10, 0.005), &speed(1.105, 0.005)));
        assert!(changed(&speed(1.10, 0.005), &speed(1.21, 0.005)));
        assert!(changed(&speed(1.002, 0.005), &speed(1.01, 0.005)));
    }

    #[test]
    fn what_may_be_noise_is_no_change() {
        // 3 %, seen through two intervals of 2 % each; then the same seen well.
        assert!(!changed(&speed(1.10, 0.025), &speed(1.133, 0.025)));
        assert!(changed(&speed(1.10, 0.005), &speed(1.133, 0.005)));
    }

    #[test]
    fn half_widths_add_up_as_independent_errors_do() {
        let of = |half| speed(1.0, half).interval;
        let moved = quotient(&of(0.003), &of(0.004));
        assert!((moved.high - 1.005).abs() < 1e-4 && (moved.low - 0.995).abs() < 1e-4, "{moved:?}");
    }
}
