//! Atomic types: those of `std`, or those of loom in model checks (`--cfg loom`, `just loom`).
//!
//! The files named `models.rs` have the model checks.

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic;
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic;
