//! Streams over transports in memory and on loopback.
#![allow(clippy::unwrap_used)]

mod answers;
mod cancellation;
mod closing;
mod data;
mod early;
mod early_exchange;
#[cfg(feature = "ech")]
mod ech;
#[allow(dead_code, reason = "shared with the tests of `tercel`")]
#[path = "../../../tls/tests/exchange/event_collector.rs"]
mod event_collector;
mod events;
mod examples;
mod handshakes;
mod listener;
mod memory;
mod post_handshake_auth;
mod runtimes;
mod support;
mod unresponsive_peers;
