//! The seed of a run.

use std::time::{SystemTime, UNIX_EPOCH};

use lab_scenario::random::Random;

/// The bound of random seeds, which keeps them short enough to type.
const SEEDS: usize = 1_000_000;

/// The seed of a run: the requested one; or else that of the continued report; or else a random
/// one.
pub(crate) fn seed(asked: Option<u64>, earlier: Option<u64>) -> u64 {
    asked.or(earlier).unwrap_or_else(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{} {}", time.as_nanos(), std::process::id());
        Random::named(0, &name).below(SEEDS) as u64
    })
}
