//! Streams over transports in memory and on loopback.
#![allow(clippy::unwrap_used)]

mod answers;
mod cancellation;
mod data;
mod deaf;
mod early;
mod exchanging;
mod handshakes;
mod late_authentication;
mod listener;
mod memory;
mod support;
