//! How rounds become a verdict.
//!
//! In each round every peer is measured once, so that what disturbs the machine for longer than a round
//! disturbs them alike. The figure for two peers is the median over the rounds of the ratio of their times;
//! its interval is the middle 95 % of the same median over resampled rounds (percentile bootstrap).
//! Must not know: what is measured. Next: `rounds.rs`, which decides when there are enough rounds.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// How often rounds are drawn anew for an interval.
const RESAMPLES: usize = 2000;

/// The relative half-width at which an interval is narrow enough for a verdict.
pub const NARROW: f64 = 0.02;

/// Fewer rounds than this say nothing: resampling them cannot give what was never seen.
pub const FEWEST: usize = 5;

/// A ratio and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The median.
    pub ratio: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The rounds it stands on.
    pub rounds: usize,
}

/// What an interval of speed (greater is faster) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Narrow, and all of it above 1.
    Ahead,
    /// Narrow, and all of it below 1.
    Behind,
    /// Narrow, and 1 is in it.
    Tie,
    /// Not narrow enough to say anything.
    Undecided,
}

impl Interval {
    /// Half the width, as a part of the ratio.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }

    /// Whether it is narrow enough for a verdict.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.rounds >= FEWEST && self.half_width() <= NARROW
    }

    /// What it says.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if !self.is_narrow() {
            Verdict::Undecided
        } else if self.low > 1.0 {
            Verdict::Ahead
        } else if self.high < 1.0 {
            Verdict::Behind
        } else {
            Verdict::Tie
        }
    }
}

impl Verdict {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Behind => "behind",
            Self::Tie => "tie",
            Self::Undecided => "undecided",
        }
    }
}

/// The middle of these values; 0 if there are none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which a `part` of the values lies, interpolated; 0 if there are none.
#[must_use]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let (low, high) = (sorted[below], sorted[above]);
    low + (high - low) * (place - place.floor())
}

/// The median of `numerator / denominator`, round by round, and its interval.
#[must_use]
pub fn ratio(numerator: &[f64], denominator: &[f64], random: &mut Random) -> Interval {
    let ratios: Vec<f64> = numerator.iter().zip(denominator).map(|(a, b)| a / b).collect();
    if ratios.is_empty() {
        return Interval { ratio: f64::NAN, low: f64::NAN, high: f64::NAN, rounds: 0 };
    }
    let mut draw = vec![0.0; ratios.len()];
    let medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            draw.fill_with(|| ratios[random.below(ratios.len())]);
            median(&draw)
        })
        .collect();
    Interval {
        ratio: median(&ratios),
        low: quantile(&medians, 0.025),
        high: quantile(&medians, 0.975),
        rounds: ratios.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// About normal: the sum of twelve numbers from 0 to 1, less six.
    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
    }

    fn sample(random: &mut Random, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| mean * (1.0 + deviation * normal(random))).collect()
    }

    #[test]
    fn quantiles_of_known_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
        let to_100: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&to_100, 0.99), 99.0);
        assert_eq!(quantile(&to_100, 0.025), 2.5);
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
    }

    #[test]
    fn a_real_difference_is_found_and_named() {
        let mut random = Random::new(3);
        let slow = sample(&mut random, 15, 105.0, 0.01);
        let fast = sample(&mut random, 15, 100.0, 0.01);
        let ahead = ratio(&slow, &fast, &mut random);
        assert!((ahead.ratio - 1.05).abs() < 0.02, "{ahead:?}");
        assert_eq!(ahead.verdict(), Verdict::Ahead);
        assert_eq!(ratio(&fast, &slow, &mut random).verdict(), Verdict::Behind);
    }

    #[test]
    fn a_wide_interval_is_never_a_tie() {
        let mut random = Random::new(4);
        let one = sample(&mut random, 15, 100.0, 0.2);
        let other = sample(&mut random, 15, 100.0, 0.2);
        let interval = ratio(&one, &other, &mut random);
        assert!(interval.half_width() > NARROW, "{interval:?}");
        assert_eq!(interval.verdict(), Verdict::Undecided);
        assert_eq!(ratio(&[], &[], &mut random).verdict(), Verdict::Undecided);
        // Nor are few rounds, however well they agree.
        assert_eq!(ratio(&[2.0; 4], &[1.0; 4], &mut random).verdict(), Verdict::Undecided);
        assert_eq!(ratio(&[2.0; 5], &[1.0; 5], &mut random).verdict(), Verdict::Ahead);
    }

    #[test]
    fn what_disturbs_both_alike_does_not_widen_the_interval() {
        let mut random = Random::new(5);
        // The clock of the machine changes by a third from round to round.
        let clock = sample(&mut random, 15, 1.0, 0.3);
        let disturbed = |random: &mut Random| -> Vec<f64> {
            clock.iter().map(|clock| clock * 100.0 * (1.0 + 0.005 * normal(random))).collect()
        };
        let (one, other) = (disturbed(&mut random), disturbed(&mut random));
        let interval = ratio(&one, &other, &mut random);
        assert!(interval.half_width() < NARROW, "{interval:?}");
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut random = Random::new(6);
        let trials = 400;
        let mut held = 0;
        for _ in 0..trials {
            let one = sample(&mut random, 15, 103.0, 0.02);
            let other = sample(&mut random, 15, 100.0, 0.02);
            let interval = ratio(&one, &other, &mut random);
            held += i32::from(interval.low <= 1.03 && 1.03 <= interval.high);
        }
        let part = f64::from(held) / f64::from(trials);
        assert!((0.91..=0.99).contains(&part), "{part}");
    }
}
