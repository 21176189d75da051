//! From shared secrets to traffic keys.
//!
//! Must not know: messages, connections. One file a version; each stage of a schedule is a type.
//! Next: [`tls13`], then [`tls12`]; [`direction`] is what they lead to.

mod constants;
pub(crate) mod direction;
pub(crate) mod importer;
pub(crate) mod suite;
pub(crate) mod tls12;
pub(crate) mod tls13;
