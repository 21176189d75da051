//! Comparison of two reports.
//!
//! Times differ from day to day, but ratios to other peers of the same run are stable. So ratios
//! are compared, and times are shown for information. A ratio has changed if the confidence
//! interval of its change excludes 1 and the change is at least [`MIN_CHANGE`].

use lab_scenario::{Row, Unit};

use super::schema::{Report, RowReport, SpeedRatio};
use crate::statistics::{ConfidenceInterval, Verdict};

/// Smaller changes of the ratio to the best other peer are not reported.
const MIN_CHANGE: f64 = 0.02;

/// The differences between two reports.
pub(crate) struct Comparison {
    /// Differences that make the reports hard to compare.
    pub(crate) warnings: Vec<String>,
    /// For each peer in both reports: the number of sides by verdict, before and now.
    pub(crate) counts: Vec<(String, [usize; 4], [usize; 4])>,
    pub(crate) changes: Vec<Change>,
    /// The number of figures that are in both reports and did not change.
    pub(crate) same: usize,
    /// Ids of rows that only one of the reports has, or that are defined differently.
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

/// A figure that changed.
pub(crate) struct Change {
    pub(crate) row: Row,
    pub(crate) side: String,
    pub(crate) peer: String,
    pub(crate) before: SpeedRatio,
    pub(crate) now: SpeedRatio,
    /// The factor by which the ratio to the best other peer changed.
    pub(crate) ratio_change: ConfidenceInterval,
    /// The factor by which the figure itself changed.
    pub(crate) figure: f64,
}

impl Comparison {
    pub(crate) fn of(old: &Report, new: &Report) -> Self {
        let twin = |row: &RowReport| old.rows.iter().find(|each| each.row == row.row);
        let missing = |from: &Report, of: &Report| -> Vec<String> {
            let has = |row: &Row| of.rows.iter().any(|each| each.row == *row);
            let rows = from.rows.iter().map(|row| &row.row).filter(|row| !has(row));
            rows.map(|row| row.id.clone()).collect()
        };
        let mut comparison = Self {
            warnings: super::differences::list(old, new),
            counts: Vec::new(),
            changes: Vec::new(),
            same: 0,
            added: missing(new, old),
            removed: missing(old, new),
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
                let ratio_change = quotient(&now.interval, &before.interval);
                if !is_changed(before, now, &ratio_change) {
                    self.same += 1;
                    continue;
                }
                self.changes.push(Change {
                    row: new.row.clone(),
                    side: side.side.clone(),
                    peer: peer.clone(),
                    before: before.clone(),
                    now: now.clone(),
                    ratio_change,
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
            for (count, _) in
                counts.iter_mut().zip(Verdict::ALL).filter(|(_, word)| *word == verdict)
            {
                *count += 1;
            }
        }
    }
}

/// The interval of `a / b` for independent measurements, whose log half-widths add in quadrature.
fn quotient(a: &ConfidenceInterval, b: &ConfidenceInterval) -> ConfidenceInterval {
    let ratio = a.ratio / b.ratio;
    let apart = |one: f64, other: f64| one.hypot(other);
    let above = apart((a.high / a.ratio).ln(), (b.ratio / b.low).ln());
    let below = apart((a.ratio / a.low).ln(), (b.high / b.ratio).ln());
    let rounds = a.rounds.min(b.rounds);
    ConfidenceInterval { ratio, low: ratio * (-below).exp(), high: ratio * above.exp(), rounds }
}

fn is_changed(before: &SpeedRatio, now: &SpeedRatio, ratio_change: &ConfidenceInterval) -> bool {
    let clear = ratio_change.low > 1.0 || ratio_change.high < 1.0;
    before.verdict != now.verdict || (clear && (ratio_change.ratio - 1.0).abs() >= MIN_CHANGE)
}

impl Change {
    /// The quantity that the figure measures.
    pub(crate) fn counted(&self) -> &'static str {
        match self.row.unit(&self.side) {
            Unit::Bytes => "size",
            Unit::Count | Unit::Instructions => "count",
            _ => "time",
        }
    }

    /// Whether the change is an improvement.
    pub(crate) fn better(&self) -> bool {
        self.ratio_change.ratio > 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(ratio: f64, half: f64) -> SpeedRatio {
        let interval =
            ConfidenceInterval { ratio, low: ratio - half, high: ratio + half, rounds: 9 };
        SpeedRatio { against: "b".to_owned(), interval, verdict: interval.verdict() }
    }

    fn changed(before: &SpeedRatio, now: &SpeedRatio) -> bool {
        is_changed(before, now, &quotient(&now.interval, &before.interval))
    }

    #[test]
    fn a_change_of_ratio_or_verdict_is_reported() {
        assert!(!changed(&speed(1.10, 0.005), &speed(1.105, 0.005)));
        assert!(changed(&speed(1.10, 0.005), &speed(1.21, 0.005)));
        assert!(changed(&speed(1.002, 0.005), &speed(1.01, 0.005)));
    }

    #[test]
    fn what_may_be_noise_is_no_change() {
        // A change of 3 %: first with intervals of 2 % on each ratio, then with narrow intervals.
        assert!(!changed(&speed(1.10, 0.025), &speed(1.133, 0.025)));
        assert!(changed(&speed(1.10, 0.005), &speed(1.133, 0.005)));
    }

    #[test]
    fn half_widths_add_up_as_independent_errors_do() {
        let of = |half| speed(1.0, half).interval;
        let ratio_change = quotient(&of(0.003), &of(0.004));
        assert!(
            (ratio_change.high - 1.005).abs() < 1e-4 && (ratio_change.low - 0.995).abs() < 1e-4,
            "{ratio_change:?}"
        );
    }
}
