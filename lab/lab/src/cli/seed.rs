//! The seed of a run.

use std::time::{SystemTime, UNIX_EPOCH};

use lab_scenario::random::Random;

/// Random seeds are below this, short enough to type.
const SEEDS: usize = 1_000_000;

/// The seed of a run: the requested one, else that of the report that is continued, else a random
/// one.
pub(crate) fn seed(asked: Option<u64>, earlier: Option<u64>) -> u64 {
    asked.or(earlier).unwrap_or_else(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{} {}", time.as_nanos(), std::process::id());
        Random::named(0, &name).below(SEEDS) as u64
    })
}
