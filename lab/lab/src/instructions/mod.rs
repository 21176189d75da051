//! Instruction counts under callgrind.

mod callgrind;
pub(crate) mod profile;
mod purposes;
pub(crate) mod rows;
