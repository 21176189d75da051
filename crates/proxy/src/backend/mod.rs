//! Backends: their addresses, load balancing, and connections to them.

pub(crate) mod endpoint;
pub(crate) mod round_robin;
