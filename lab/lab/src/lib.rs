//! The lab's controller: it builds and runs workers, and writes reports.
//!
//! The modules, lowest first. A module uses only itself and the modules before it.
//!
//! | module | contents |
//! |---|---|
//! | [`machine`] | the description of the machine, its load and its processors |
//! | [`statistics`] | medians, bootstrap confidence intervals, verdicts |
//! | [`report`] | the format of `report.json`, comparisons and A/A tests of reports |
//! | `worker` | discovery, builds and processes of workers |
//! | `material` | keys, certificates and memory placements from the seed |
//! | `instructions` | instruction counts and profiles under callgrind |
//! | [`output`] | text for the terminal, HTML pages |
//! | `run` | `lab run` and `lab profile`: selection of rows, time plan, rounds |
//! | [`series`] | `lab openssl`: releases of OpenSSL compared with each other |
//! | [`cli`] | the command line |

pub use lab_scenario::random;

pub mod cli;
mod instructions;
pub mod machine;
mod material;
pub mod output;
pub mod report;
mod run;
pub mod series;
pub mod statistics;
mod worker;
