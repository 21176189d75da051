//! Workers: discovery, builds, processes, and their allocator.

pub(crate) mod allocations;
pub(crate) mod allocator;
pub(crate) mod build;
pub(crate) mod discovery;
pub(crate) mod peers;
pub(crate) mod process;
