//! A TLS terminator: what `tercel proxy` runs.
//!
//! Clients come in over TLS, their bytes go out to backends in the clear, and back. Each core has a thread with
//! listeners and a runtime of its own; nothing is shared on the way of a byte but counters that are read elsewhere.
//!
//! Must not know: the protocol, which is the crate `tercel`'s. Unix only.
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | say what is served | [`Config`]; `docs/proxy.md` has every key |
//! | serve it in this process | [`Proxy`] |
//! | be the program | [`run`] |
//! | understand why it is refused | [`Fault`] |
//! | count, watch, log | [`metrics`], [`admin`], [`logs`] |
//! | have certificates read and watched | [`certificates`] |
//! | be a service | [`system`] |
//!
//! A connection's way leads through `listener` (accept), `connection` (handshake; `early` for early data that does not wait
//! for its end), `reach` (a backend), `session` (what lasts) and `relay` (bytes); `worker` is the thread around it, `run` what all threads are told.

#![forbid(unsafe_code)]
#![cfg(unix)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

pub mod admin;
pub mod certificates;
pub mod logs;
pub mod metrics;
pub mod system;

mod backend;
mod blind;
mod config;
mod connection;
mod early;
mod gather;
mod lend;
mod limits;
mod listener;
mod live;
mod names;
mod proxy_protocol;
mod pulse;
mod reach;
mod relay;
mod run;
mod service;
mod session;
mod sweep;
mod sync;
mod worker;

#[cfg(test)]
#[cfg_attr(not(debug_assertions), allow(dead_code))]
mod testing;

// What runs a whole terminator is written once, for the tests in here and for those outside.
#[cfg(test)]
extern crate self as tercel_proxy;

pub use config::{
    BackendAddress, CertificateSource, Config, Connect, Fault, Limits, Listener, Log, Network,
    OnTruncation, Resumption, Route, Simple, Tickets, Timeouts,
};
pub use run::{Bound, Proxy, check};
pub use service::run;

/// Test seam. Source and destination in a PROXY header, if it names them, and how long it is: for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn read_proxy_header(bytes: &[u8]) -> Option<(Option<[std::net::SocketAddr; 2]>, usize)> {
    let mut rest = bytes;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = {
        let header = std::pin::pin!(proxy_protocol::read::header(&mut rest));
        std::future::Future::poll(header, &mut context)
    };
    // Bytes that are there are never waited for.
    let std::task::Poll::Ready(read) = polled else { return None };
    let ends = read.ok()?.map(|ends| [ends.source, ends.destination]);
    Some((ends, bytes.len().saturating_sub(rest.len())))
}
