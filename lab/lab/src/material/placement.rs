//! Memory placements of worker processes.

use lab_scenario::random::Random;

/// The bound of placements.
const PLACEMENTS: usize = 1 << 32;

/// The placement of a peer in a round.
pub(crate) fn placement(seed: u64, what: &str, round: usize, peer: &str) -> u64 {
    let name = format!("placement of {peer} in round {round} of {what}");
    Random::named(seed, &name).below(PLACEMENTS) as u64
}
