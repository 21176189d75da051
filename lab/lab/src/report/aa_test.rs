//! A/A test: a worker that runs twice must tie with itself.
//!
//! A worker that ran as `NAME` and `NAME@2` should tie in nearly every side of every row. One in
//! twenty 95 % intervals misses the true value, so one side in twenty may differ.

use std::fmt;

use super::schema::{Report, SpeedRatio};
use crate::statistics::Verdict;

/// The minimum share of sides that tie.
const MIN_TIE_SHARE: f64 = 0.95;

/// The range in which every ratio must lie.
const RATIO_RANGE: [f64; 2] = [0.98, 1.02];

/// The result of an A/A test.
#[derive(Clone, Debug, PartialEq)]
pub struct AaResult {
    /// The number of sides that were compared.
    pub sides: usize,
    /// The number of sides that tie.
    pub ties: usize,
    /// The smallest and the largest ratio.
    pub ratios: [f64; 2],
    /// Descriptions of the sides that do not tie.
    pub others: Vec<String>,
    /// The number of noisy rows.
    pub noisy: usize,
}

/// Evaluates every side in which the best other peer is the same worker.
#[must_use]
pub fn evaluate(report: &Report) -> AaResult {
    let mut outcome = AaResult {
        sides: 0,
        ties: 0,
        ratios: [f64::INFINITY, f64::NEG_INFINITY],
        others: Vec::new(),
        noisy: report.noisy_rows(),
    };
    for row in &report.rows {
        for side in &row.sides {
            // The peer `NAME@2` is omitted, because it gives the reciprocal of the same comparison.
            let met = side.peers.iter().filter(|figure| !figure.peer.contains('@'));
            for figure in met {
                let Some(speed) = &figure.speed else { continue };
                if worker(&speed.against) == figure.peer {
                    outcome.add(&format!("{} {}", row.row.id, side.side), speed);
                }
            }
        }
    }
    outcome
}

fn worker(peer: &str) -> &str {
    peer.split_once('@').map_or(peer, |(name, _)| name)
}

impl AaResult {
    fn add(&mut self, side: &str, speed: &SpeedRatio) {
        let interval = &speed.interval;
        self.sides += 1;
        self.ratios = [self.ratios[0].min(interval.ratio), self.ratios[1].max(interval.ratio)];
        if speed.verdict == Verdict::Tie {
            self.ties += 1;
        } else {
            self.others.push(format!(
                "{side}: {} {:.3} [{:.3}, {:.3}]",
                speed.verdict.word(),
                interval.ratio,
                interval.low,
                interval.high
            ));
        }
    }

    /// Whether enough sides tie and all ratios are within the range.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn passed(&self) -> bool {
        let [low, high] = RATIO_RANGE;
        let enough = self.ties as f64 >= MIN_TIE_SHARE * self.sides as f64;
        self.sides > 0 && enough && self.ratios[0] >= low && self.ratios[1] <= high
    }
}

impl fmt::Display for AaResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sides == 0 {
            return writeln!(f, "no A/A pair in the report: run with --peers NAME,NAME@2");
        }
        for other in &self.others {
            writeln!(f, "{other}")?;
        }
        if self.noisy > 0 {
            writeln!(f, "{} rows are noisy: other programs were running", self.noisy)?;
        }
        let [low, high] = self.ratios;
        writeln!(f, "{} of {} sides tie, ratios within {low:.3}..{high:.3}", self.ties, self.sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::ConfidenceInterval;

    fn outcome(ratios: &[f64]) -> AaResult {
        let ratios_of_none = [f64::INFINITY, f64::NEG_INFINITY];
        let mut outcome =
            AaResult { sides: 0, ties: 0, ratios: ratios_of_none, others: Vec::new(), noisy: 0 };
        for ratio in ratios {
            let (low, high) = (ratio - 0.004, ratio + 0.004);
            let interval = ConfidenceInterval { ratio: *ratio, low, high, rounds: 15 };
            let verdict = interval.verdict();
            outcome.add("a side", &SpeedRatio { against: "a@2".to_owned(), interval, verdict });
        }
        outcome
    }

    #[test]
    fn one_side_in_twenty_may_miss_and_none_be_far_off() {
        let mut ratios = vec![1.001; 19];
        ratios.push(1.01);
        let good = outcome(&ratios);
        assert!(good.passed(), "{good}");
        assert!(good.to_string().ends_with("19 of 20 sides tie, ratios within 1.001..1.010\n"));
        ratios[0] = 0.99;
        assert!(!outcome(&ratios).passed());
        ratios[0] = 1.0;
        ratios[19] = 1.03;
        assert!(!outcome(&ratios).passed());
        assert!(!outcome(&[]).passed());
    }
}
