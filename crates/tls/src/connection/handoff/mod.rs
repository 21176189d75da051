//! Export of connections: saved as bytes, or as traffic keys for another record layer.

pub(crate) mod saved;
pub(crate) mod traffic_keys;
