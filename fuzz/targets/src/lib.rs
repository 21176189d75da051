//! What the fuzz targets check: one function for each, from any bytes to an answer.
//!
//! A target panics on a fault and returns whether the bytes led where they are meant to lead: to a message,
//! a connection, a trusted chain. Nothing here knows a fuzzer.
//!
//! | what is tried | where |
//! |---|---|
//! | messages, records, alerts | `messages.rs` |
//! | one side of a handshake, against any bytes | `one_sided.rs` |
//! | both sides, and whoever sits between them | `two_sided/mod.rs` |
//! | connections as bytes | `saved.rs` |
//! | certificate chains | `chain.rs` |
//! | tickets, sealed and opened | `sealed.rs` |
//! | sessions, saved sessions, ticket keys, as bytes | `sessions.rs` |
//! | stapled OCSP responses | `ocsp.rs` |
//! | MACs and key material, made side by side | `lanes.rs` |
//! | what a terminator and its fleet read | `terminator.rs` |
//!
//! All of it needs the feature `seams` and debug assertions, which `cargo test` and cargo-fuzz turn on.
//!
//! Next: `fuzz/fuzz_targets`, which call these; `tests/replay.rs`, which does without a fuzzer.

#![forbid(unsafe_code)]
#![cfg(all(feature = "seams", debug_assertions))]

mod chain;
mod configs;
mod lanes;
mod material;
mod messages;
mod ocsp;
mod one_sided;
mod peer;
mod resumption;
mod saved;
mod script;
mod sealed;
mod sessions;
#[cfg(unix)]
mod terminator;
mod two_sided;

pub use chain::chain;
pub use configs::CONFIGS;
pub use lanes::hash_lanes;
pub use messages::{
    certificate, certificate_request, certificate_verify_finished, client_hello,
    encrypted_extensions, key_exchange_12, record_alert, server_hello, tickets,
};
pub use ocsp::ocsp_response;
pub use one_sided::{client_handshake, server_handshake};
pub use saved::{connections, saved_connection};
pub use sealed::sealed_tickets;
pub use sessions::{saved_sessions, session_seeds, sessions, ticket_keys};
#[cfg(unix)]
pub use terminator::{fleet_keys, proxy_config, proxy_header};
pub use two_sided::{flights, two_sided};
