//! The lab's controller: starts workers, measures them side by side, and reports.
//!
//! | to see | look at |
//! |---|---|
//! | how a run goes | `run.rs` |
//! | how a row is measured | `rounds.rs` |
//! | what a round draws anew | `material/` |
//! | how instructions are counted | `instructions.rs`, `callgrind.rs` |
//! | what instructions are for | [`profile`], [`purposes`] |
//! | how long a row may take | `plan.rs` |
//! | how rounds become a verdict | [`statistics`] |
//! | what is in a report | [`report`] |
//! | how it is shown | [`table`], [`markdown`], [`page`], `plots.rs`, [`compare`] |
//! | whether a library ties with itself | [`same`] |
//! | what a report says of its accounting | [`published`] |
//! | how many threads and connections | `fit.rs` |
//! | how allocations are counted | `counter.rs`, `count.c` |
//! | how one library is measured at different ages | [`series`] |
//! | how workers are found and built | `peers.rs` |
//! | how workers are talked to | `process.rs`, and [`lab_scenario::protocol`] |
//!
//! Must not know: any TLS library.

pub use lab_scenario::random;

mod callgrind;
pub mod command;
pub mod compare;
mod counter;
mod fit;
mod instructions;
pub mod machine;
pub mod markdown;
mod material;
pub mod page;
mod peers;
mod plan;
mod plots;
mod process;
pub mod profile;
mod profile_page;
mod progress;
pub mod published;
pub mod purposes;
pub mod report;
mod rounds;
mod run;
pub mod same;
pub mod series;
pub mod statistics;
pub mod table;
