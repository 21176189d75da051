//! Whether a library ties with itself: the test of the lab that needs no other lab.
//!
//! A worker that took part as `NAME` and `NAME@2` should tie in nearly every side of every row, however
//! exactly it was measured. Of 95 % intervals one in twenty misses the truth, so that is how many may.
//! Must not know: how figures came about. Next: `report.rs`.

use std::fmt;

use crate::report::{Report, Speed};
use crate::statistics::Verdict;

/// The part of sides that must tie.
const TIES: f64 = 0.95;

/// Where every ratio must lie.
const RATIOS: [f64; 2] = [0.98, 1.02];

/// What became of the sides in which a worker met itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How many sides there are.
    pub sides: usize,
    /// How many of them tie.
    pub ties: usize,
    /// The least and the greatest ratio.
    pub ratios: [f64; 2],
    /// The sides that do not tie, in words.
    pub others: Vec<String>,
    /// Rows that other programs disturbed.
    pub noisy: usize,
}

/// Looks at every side where a peer's best other is the same worker.
#[must_use]
pub fn judge(report: &Report) -> Outcome {
    let mut outcome = Outcome {
        sides: 0,
        ties: 0,
        ratios: [f64::INFINITY, f64::NEG_INFINITY],
        others: Vec::new(),
        noisy: report.noisy_rows(),
    };
    for row in &report.rows {
        for side in &row.sides {
            // Seen from `NAME@2` it is the same turned round.
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

impl Outcome {
    fn add(&mut self, side: &str, speed: &Speed) {
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

    /// Whether enough sides tie, and no ratio is far from 1.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn is_good(&self) -> bool {
        let [low, high] = RATIOS;
        let enough = self.ties as f64 >= TIES * self.sides as f64;
        self.sides > 0 && enough && self.ratios[0] >= low && self.ratios[1] <= high
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sides == 0 {
            return writeln!(f, "no worker met itself: run with --peers NAME,NAME@2");
        }
        for other in &self.others {
            writeln!(f, "{other}")?;
        }
        if self.noisy > 0 {
            writeln!(f, "{} rows are noisy: other programs ran meanwhile", self.noisy)?;
        }
        let [low, high] = self.ratios;
        writeln!(f, "{} of {} sides tie, ratios within {low:.3}..{high:.3}", self.ties, self.sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Interval;

    fn outcome(ratios: &[f64]) -> Outcome {
        let ratios_of_none = [f64::INFINITY, f64::NEG_INFINITY];
        let mut outcome =
            Outcome { sides: 0, ties: 0, ratios: ratios_of_none, others: Vec::new(), noisy: 0 };
        for ratio in ratios {
            let (low, high) = (ratio - 0.004, ratio + 0.004);
            let interval = Interval { ratio: *ratio, low, high, rounds: 15 };
            let verdict = interval.verdict();
            outcome.add("a side", &Speed { against: "a@2".to_owned(), interval, verdict });
        }
        outcome
    }

    #[test]
    fn one_side_in_twenty_may_miss_and_none_be_far_off() {
        let mut ratios = vec![1.001; 19];
        ratios.push(1.01);
        let good = outcome(&ratios);
        assert!(good.is_good(), "{good}");
        assert!(good.to_string().ends_with("19 of 20 sides tie, ratios within 1.001..1.010\n"));
        ratios[0] = 0.99;
        assert!(!outcome(&ratios).is_good());
        ratios[0] = 1.0;
        ratios[19] = 1.03;
        assert!(!outcome(&ratios).is_good());
        assert!(!outcome(&[]).is_good());
    }
}
