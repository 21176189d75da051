//! The machine: its description, the load of other programs, and its processors.

mod description;
pub(crate) mod load;
pub(crate) mod parallel;
mod procfs;

pub use description::Machine;
