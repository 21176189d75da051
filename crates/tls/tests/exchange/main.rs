//! Both sides over the public interface, in one thread and without sockets.
//!
//! For: what an application sees of handshakes and connections. Must not know: the crate's inside;
//! peers that break the rules under the right keys are in `src/testing/`.
//! Modules for debug assertions only need test seams, which no other build has (CONTRIBUTING.md, "Test seams").
//! Next: `pair.rs` and `identity.rs`, which all of these use; then `combinations.rs`.

#[path = "../../../pki/tests/ocsp_maker/mod.rs"]
mod ocsp_maker;

mod after_alerts;
mod asked_stores;
mod certificates;
mod choice;
mod combinations;
mod compression;
mod cookie;
mod decisions;
mod early_data;
mod endings;
mod forged;
mod freshness;
mod identity;
mod ml_dsa;
mod negotiation;
mod nested;
mod pair;
#[cfg(debug_assertions)]
mod parked;
mod pending;
mod ports;
mod post_handshake_auth;
mod pre_shared_keys;
mod put_back;
mod questions;
mod raw_public_keys;
#[cfg(debug_assertions)]
mod reads;
mod renewal;
mod replay;
mod resumed_trust;
mod resumption;
mod rotation;
#[cfg(debug_assertions)]
mod saved;
mod secrets;
mod server_sessions;
mod signatures;
mod sizes;
mod staples;
mod strangers;
mod streams;
mod traffic_keys;
mod updates;
mod wishes;
