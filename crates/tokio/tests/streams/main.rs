//! Streams over transports in memory and on loopback.
#![allow(clippy::unwrap_used)]

mod answers;
mod cancellation;
mod data;
mod early;
mod early_exchange;
mod handshakes;
mod listener;
mod memory;
mod post_handshake_auth;
mod support;
mod unresponsive_peers;
