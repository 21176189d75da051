//! The checks of the fuzz targets: one function for each target, which takes arbitrary bytes and
//! returns a result.
//!
//! A target panics on a fault. It returns whether the bytes led to the intended result: a message,
//! a connection, an accepted chain. No code here depends on a fuzzer.
//!
//! | input | module |
//! |---|---|
//! | messages, records, alerts | `messages.rs` |
//! | Encrypted ClientHello | `encrypted.rs` |
//! | one side of a handshake, with arbitrary bytes | `one_sided.rs` |
//! | both sides, with an attacker between them | `two_sided/mod.rs` |
//! | both sides over QUIC, with an attacker between them | `quic.rs` |
//! | packets over QUIC, Retry packets, tokens | `quic_packets.rs` |
//! | connections as bytes | `saved.rs` |
//! | certificate chains | `chain.rs` |
//! | tickets, sealed and opened | `sealed.rs` |
//! | sessions, saved sessions, ticket keys, as bytes | `sessions.rs` |
//! | stapled OCSP responses | `ocsp.rs` |
//! | PKCS#12 files | `pkcs12.rs` |
//! | MACs and key material, computed in parallel | `lanes.rs` |
//! | records and signatures by kernels, and by AWS-LC | `kernels.rs` |
//! | inputs of a terminator and its fleet | `terminator.rs` |
//! | calls of the C interface | `capi/mod.rs` |
//!
//! The modules need the feature `seams` and debug assertions, which `cargo test` and cargo-fuzz
//! enable.

// Only `capi`, which calls functions as a program in C does, has `unsafe`.
#![deny(unsafe_code)]
#![cfg(all(feature = "seams", debug_assertions))]

#[allow(unsafe_code)]
mod capi;
mod chain;
mod configs;
mod encrypted;
mod kernels;
mod lanes;
mod material;
mod messages;
mod ocsp;
mod one_sided;
mod peer;
mod pkcs12;
mod quic;
mod quic_packets;
mod resumption;
mod saved;
mod script;
mod sealed;
mod sessions;
#[cfg(unix)]
mod terminator;
mod two_sided;

pub use capi::entry_points;
pub use chain::chain;
pub use configs::CONFIGS;
pub use encrypted::encrypted_client_hello;
pub use kernels::{aes_gcm, chacha20_poly1305, rsa_2048};
pub use lanes::hash_lanes;
pub use messages::{
    certificate, certificate_request, certificate_verify_finished, client_hello,
    encrypted_extensions, key_exchange_12, record_alert, server_hello, tickets,
};
pub use ocsp::ocsp_response;
pub use one_sided::{client_handshake, server_handshake};
pub use pkcs12::pkcs12;
pub use quic::{quic, quic_seeds};
pub use quic_packets::{quic_packet_seeds, quic_packets};
pub use saved::{connections, saved_connection};
pub use sealed::sealed_tickets;
pub use sessions::{saved_sessions, session_seeds, sessions, ticket_keys};
#[cfg(unix)]
pub use terminator::{fleet_keys, passthrough_hello, proxy_config, proxy_header};
pub use two_sided::{flights, two_sided};
