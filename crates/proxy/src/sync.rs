//! Atomic numbers: the standard ones, or with `--cfg loom` those of a model checker (`just loom`).
//!
//! Must not know: what is counted. Next: the files named `models.rs`, which say what must hold.

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic;
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic;
