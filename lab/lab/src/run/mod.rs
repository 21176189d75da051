//! Runs: selection of rows, time plan, rounds.

pub(crate) mod counts;
pub(crate) mod execution;
mod plan;
pub(crate) mod progress;
mod rounds;
pub(crate) mod selection;
