//! Distribution of times: a compact histogram with classes 1 % wide.
//!
//! Unlike percentiles, histograms of threads and rounds can be added.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Classes per doubling.
const CLASSES: f64 = 64.0;

/// A histogram of times, and the longest time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Counts by class: class `c` begins at 2^(c/64) nanoseconds.
    #[serde(with = "pairs")]
    pub classes: BTreeMap<u32, u64>,
    /// The longest time in nanoseconds.
    pub max: f64,
}

impl Distribution {
    /// Adds a time in nanoseconds.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn count(&mut self, nanoseconds: f64) {
        let class = Self::class(nanoseconds).floor() as u32;
        *self.classes.entry(class).or_default() += 1;
        self.max = self.max.max(nanoseconds);
    }

    /// The class of a time in nanoseconds. The fraction is the position in the class.
    #[must_use]
    pub fn class(nanoseconds: f64) -> f64 {
        nanoseconds.max(1.0).log2() * CLASSES
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Self) {
        for (class, count) in &other.classes {
            *self.classes.entry(*class).or_default() += count;
        }
        self.max = self.max.max(other.max);
    }

    /// The number of times.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.classes.values().sum()
    }

    /// The percentile in nanoseconds: `part` is 0.99 for the 99th. The error is at most half the
    /// width of a class. Returns 0 if there are no times.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn percentile(&self, part: f64) -> f64 {
        let wanted = part * self.total() as f64;
        let mut seen = 0;
        for (class, count) in &self.classes {
            seen += count;
            if seen as f64 >= wanted {
                return middle(*class).min(self.max);
            }
        }
        self.max
    }
}

/// Serializes classes as a list of pairs, because the keys of a JSON object are strings.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        classes: &BTreeMap<u32, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(classes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<u32, u64>, D::Error> {
        Ok(Vec::<(u32, u64)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The middle of a class in nanoseconds.
fn middle(class: u32) -> f64 {
    ((f64::from(class) + 0.5) / CLASSES).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Measurement, Reply};

    #[test]
    fn percentiles_are_right_to_a_hundredth_and_survive_addition() {
        let (mut low, mut high) = (Distribution::default(), Distribution::default());
        for time in 1..=5000 {
            low.count(f64::from(time) * 1000.0);
            high.count(f64::from(time + 5000) * 1000.0);
        }
        low.add(&high);
        assert_eq!(low.total(), 10_000);
        for part in [0.05, 0.5, 0.9, 0.99, 0.999] {
            let exact = part * 1e7;
            assert!((low.percentile(part) / exact - 1.0).abs() < 0.011, "{part}");
        }
        assert_eq!(low.max, 1e7);
        assert!(low.percentile(1.0) <= low.max);
        assert_eq!(Distribution::default().percentile(0.5), 0.0);
    }

    #[test]
    fn no_time_is_too_short_or_too_long_to_be_counted() {
        let mut distribution = Distribution::default();
        distribution.count(0.0);
        distribution.count(1e18);
        assert_eq!(distribution.total(), 2);
        let distributions = [("client".to_owned(), distribution)].into();
        let reply = Reply::Measured(Measurement { distributions, ..Measurement::default() });
        let line = serde_json::to_string(&reply).unwrap();
        assert_eq!(serde_json::from_str::<Reply>(&line).unwrap(), reply);
    }
}
