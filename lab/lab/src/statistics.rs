//! Ratios with bootstrap confidence intervals, and verdicts.
//!
//! In each round every peer is measured once, so a disturbance that lasts longer than a round
//! affects all peers alike. The estimate for two peers is the median over the rounds of the ratio
//! of their times. Its confidence interval is the percentile bootstrap over rounds. With few rounds
//! the plain percentile interval covers the true value in fewer than 95 of 100 cases, so the
//! expanded percentile interval is used.

use serde::{Deserialize, Serialize};

use lab_scenario::random::Random;

/// Bootstrap resamples for each confidence interval.
const RESAMPLES: usize = 2000;

/// The largest relative half-width of an interval that allows a verdict.
pub const MAX_HALF_WIDTH: f64 = 0.02;

/// An interval is clear of 1 if it is farther from 1 than this.
const CLEAR_MARGIN: f64 = 0.01;

/// The fewest rounds that allow a verdict. Resampling cannot produce values that were never
/// observed.
pub const MIN_ROUNDS: usize = 5;

/// A ratio and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The median of the ratios of all rounds.
    pub ratio: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The number of rounds.
    pub rounds: usize,
}

/// The verdict on an interval of relative speed, where greater is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval is narrow and lies above 1.
    Ahead,
    /// The interval is narrow and lies below 1.
    Behind,
    /// The interval is narrow and contains 1.
    Tie,
    /// The interval is too wide for a verdict.
    Undecided,
}

impl ConfidenceInterval {
    /// Half the width, relative to the ratio.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }

    /// Whether the interval is narrow enough for a verdict.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.rounds >= MIN_ROUNDS && self.half_width() <= MAX_HALF_WIDTH
    }

    /// Whether the verdict needs no more rounds. `fewest` is the minimum number of rounds of the
    /// row.
    ///
    /// One in twenty intervals misses the true value, and a test after each round raises that rate.
    /// A verdict whose interval is close to 1 therefore needs twice the minimum number of rounds.
    #[must_use]
    pub fn is_conclusive(&self, fewest: usize) -> bool {
        let is_clear = self.low > 1.0 + CLEAR_MARGIN || self.high < 1.0 - CLEAR_MARGIN;
        let is_certain = is_clear || self.verdict() == Verdict::Tie;
        self.is_narrow() && (is_certain || self.rounds >= fewest.saturating_mul(2))
    }

    /// The verdict.
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
    /// All verdicts, in the order of counts.
    pub const ALL: [Self; 4] = [Self::Ahead, Self::Tie, Self::Undecided, Self::Behind];

    /// The verdict's name.
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

/// The median; 0 without values.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile at `part`, linearly interpolated; 0 without values.
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

/// The median of `numerator / denominator` over the rounds, with its confidence interval.
#[must_use]
pub fn ratio(numerator: &[f64], denominator: &[f64], random: &mut Random) -> ConfidenceInterval {
    let ratios: Vec<f64> = numerator.iter().zip(denominator).map(|(a, b)| a / b).collect();
    if ratios.is_empty() {
        return ConfidenceInterval { ratio: f64::NAN, low: f64::NAN, high: f64::NAN, rounds: 0 };
    }
    let tail_probability = tail_probability(ratios.len());
    let mut draw = vec![0.0; ratios.len()];
    let medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            draw.fill_with(|| ratios[random.below(ratios.len())]);
            median(&draw)
        })
        .collect();
    ConfidenceInterval {
        ratio: median(&ratios),
        low: quantile(&medians, tail_probability),
        high: quantile(&medians, 1.0 - tail_probability),
        rounds: ratios.len(),
    }
}

/// The probability outside the interval at each end, for an expanded percentile interval of 95 %.
///
/// The bootstrap underestimates the spread of `n` rounds by `sqrt((n - 1) / n)`, and uses normal
/// instead of Student quantiles. The expanded percentile interval corrects both (T. Hesterberg,
/// What Teachers Should Know About the Bootstrap, 2014).
#[allow(clippy::cast_precision_loss)]
fn tail_probability(rounds: usize) -> f64 {
    let n = rounds.max(2) as f64;
    normal_tail(student_quantile(n - 1.0) * (n / (n - 1.0)).sqrt())
}

/// The 97.5 % quantile of Student's t distribution, by an expansion about the normal quantile. With
/// four degrees of freedom it is 0.3 % too low.
fn student_quantile(freedom: f64) -> f64 {
    const Z: f64 = 1.959_964;
    let z = |power| Z.powi(power);
    let first = (z(3) + Z) / 4.0;
    let second = (5.0 * z(5) + 16.0 * z(3) + 3.0 * Z) / 96.0;
    let third = (3.0 * z(7) + 19.0 * z(5) + 17.0 * z(3) - 15.0 * Z) / 384.0;
    Z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

/// The probability that a standard normal value exceeds `x`, for `x >= 0`, accurate to 1e-7.
fn normal_tail(x: f64) -> f64 {
    // The formula 26.2.17 of Abramowitz and Stegun.
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let of = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let polynomial = of.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An approximately normal value: the sum of twelve uniform values from 0 to 1, minus six.
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
    fn a_verdict_by_a_hair_needs_twice_the_rounds() {
        let interval = |low: f64, high: f64, rounds| ConfidenceInterval {
            ratio: f64::midpoint(low, high),
            low,
            high,
            rounds,
        };
        // Intervals clear of 1 and ties are conclusive as soon as they are narrow.
        assert!(interval(1.02, 1.04, 15).is_conclusive(15));
        assert!(interval(0.96, 0.98, 15).is_conclusive(15));
        assert!(interval(0.99, 1.01, 15).is_conclusive(15));
        // The interval lies above or below 1, but close to it.
        for (low, high) in [(1.001, 1.02), (0.97, 0.999)] {
            assert_ne!(interval(low, high, 29).verdict(), Verdict::Tie);
            assert!(!interval(low, high, 29).is_conclusive(15));
            assert!(interval(low, high, 30).is_conclusive(15));
        }
        assert!(!interval(0.8, 1.2, 100).is_conclusive(15));
    }

    #[test]
    fn a_wide_interval_is_never_a_tie() {
        let mut random = Random::new(4);
        let one = sample(&mut random, 15, 100.0, 0.2);
        let other = sample(&mut random, 15, 100.0, 0.2);
        let interval = ratio(&one, &other, &mut random);
        assert!(interval.half_width() > MAX_HALF_WIDTH, "{interval:?}");
        assert_eq!(interval.verdict(), Verdict::Undecided);
        assert_eq!(ratio(&[], &[], &mut random).verdict(), Verdict::Undecided);
        // Few rounds allow no verdict either, even if they agree.
        assert_eq!(ratio(&[2.0; 4], &[1.0; 4], &mut random).verdict(), Verdict::Undecided);
        assert_eq!(ratio(&[2.0; 5], &[1.0; 5], &mut random).verdict(), Verdict::Ahead);
    }

    #[test]
    fn what_disturbs_both_alike_does_not_widen_the_interval() {
        let mut random = Random::new(5);
        // The machine's clock rate varies by a third between rounds.
        let clock = sample(&mut random, 15, 1.0, 0.3);
        let disturbed = |random: &mut Random| -> Vec<f64> {
            clock.iter().map(|clock| clock * 100.0 * (1.0 + 0.005 * normal(random))).collect()
        };
        let (one, other) = (disturbed(&mut random), disturbed(&mut random));
        let interval = ratio(&one, &other, &mut random);
        assert!(interval.half_width() < MAX_HALF_WIDTH, "{interval:?}");
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut random = Random::new(6);
        let trials = 400;
        for rounds in [7, 15] {
            let mut held = 0;
            for _ in 0..trials {
                let one = sample(&mut random, rounds, 103.0, 0.02);
                let other = sample(&mut random, rounds, 100.0, 0.02);
                let interval = ratio(&one, &other, &mut random);
                held += i32::from(interval.low <= 1.03 && 1.03 <= interval.high);
            }
            let part = f64::from(held) / f64::from(trials);
            assert!(part >= 0.93, "{rounds} rounds: {part}");
        }
    }

    /// The share of 95 % intervals over 15 rounds that contain the true value. Each key makes each
    /// of the two libraries faster or slower by a random amount. The remaining noise is a third as
    /// large.
    fn held(seed: u64, each_round_has_a_key_of_its_own: bool) -> f64 {
        let (mut random, trials, rounds) = (Random::new(seed), 400, 15);
        let of_key =
            |random: &mut Random| -> [f64; 2] { [(); 2].map(|()| 1.0 + 0.006 * normal(random)) };
        let mut held = 0;
        for _ in 0..trials {
            let mut key = of_key(&mut random);
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..rounds {
                if each_round_has_a_key_of_its_own {
                    key = of_key(&mut random);
                }
                // The clock rate changes equally for both libraries.
                let clock = 1.0 + 0.1 * normal(&mut random);
                for (times, (speed, key)) in times.iter_mut().zip([1.01, 1.0].into_iter().zip(key))
                {
                    times.push(100.0 * clock * speed * key * (1.0 + 0.002 * normal(&mut random)));
                }
            }
            let interval = ratio(&times[0], &times[1], &mut random);
            held += i32::from(interval.low <= 1.01 && 1.01 <= interval.high);
        }
        f64::from(held) / f64::from(trials)
    }

    #[test]
    fn what_each_round_draws_is_in_the_interval_and_what_all_share_is_not() {
        let (drawn, shared) = (held(7, true), held(8, false));
        assert!(drawn >= 0.93, "{drawn}");
        assert!(shared < 0.5, "{shared}");
    }

    #[test]
    fn few_rounds_widen_the_interval() {
        // The values are from tables of Student's t distribution and the normal distribution.
        for (freedom, quantile) in [(4.0, 2.776), (6.0, 2.447), (14.0, 2.145), (29.0, 2.045)] {
            assert!((student_quantile(freedom) / quantile - 1.0).abs() < 0.003, "{freedom}");
        }
        for (x, tail) in [(0.0, 0.5), (1.0, 0.158_655), (1.959_964, 0.025), (3.0, 0.001_350)] {
            assert!((normal_tail(x) - tail).abs() < 1e-6, "{x}");
        }
        assert!((tail_probability(15) - 0.0132).abs() < 1e-4, "{}", tail_probability(15));
        assert!((tail_probability(1000) - 0.025).abs() < 2e-4 && tail_probability(1) > 0.0);
    }
}
