//! Atomic types: those of `std`, or those of loom in model checks (`--cfg loom`, `just loom`).
//!
//! The invariants that are checked are in the files named `models.rs`.

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic;
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic;
