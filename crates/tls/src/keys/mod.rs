//! Key schedules of both versions, cipher suites, groups and signature schemes.

mod constants;
pub(crate) mod direction;
pub(crate) mod group;
pub(crate) mod importer;
pub(crate) mod label;
#[cfg(feature = "quic")]
pub(crate) mod quic;
pub(crate) mod scheme;
pub(crate) mod suite;
pub(crate) mod tls12;
pub(crate) mod tls13;
pub(crate) mod write_key;
