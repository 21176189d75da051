//! A TLS terminator: the library behind `tercel proxy`.
//!
//! Clients connect over TLS; their data is forwarded to backends in plaintext, and the backends'
//! data back to them. Each worker thread has its own listeners and its own runtime, and data never
//! crosses threads; counters are the only shared state that a connection uses. Unix only.
//!
//! Start with [`Config`] (`docs/proxy.md` describes every key). [`run`] is the whole program;
//! [`Proxy`] serves within another one. [`ConfigError`] is the reason why a configuration was
//! rejected.
//!
//! # Modules
//!
//! Lowest first: a module uses only itself and the modules above it in this table.
//!
//! | module | what it is |
//! |---|---|
//! | `sync` | atomic types, those of loom in model checks |
//! | [`system`] | file limit, privileges, signals, sd_notify, socket activation |
//! | [`observability`] | logs, metrics, admin listener |
//! | `config` | the configuration file, parsed and validated |
//! | [`certificates`] | certificates from files, reloaded when they change |
//! | `ech_keys` | keys for Encrypted ClientHello, reloaded when their files change |
//! | `ech_publish` | publishing them to a fleet |
//! | `backend` | backend endpoints, connections to them, round robin |
//! | `active_config` | the loaded configuration, with server names, ticket keys, replay guard |
//! | `worker` | state that the connections of one worker share: limits, idle timers |
//! | `relay` | the data phase: buffers, coalescing, relaying, closing |
//! | `connection` | a connection from accept to close: PROXY protocol, handshake, early data |
//! | `listener` | listening sockets and their accept loops |
//! | `service` | the process: worker threads, reload, drain, watchdog |

#![cfg_attr(docsrs, feature(doc_cfg))]
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

pub mod certificates;
pub mod observability;
pub mod system;

mod active_config;
mod backend;
mod config;
mod connection;
mod ech_keys;
mod ech_publish;
mod listener;
mod relay;
mod service;
mod sync;
mod worker;

#[cfg(test)]
#[path = "../../pki/tests/pem_cases/mod.rs"]
mod pem_cases;
#[cfg(test)]
#[cfg_attr(not(debug_assertions), allow(dead_code))]
mod testing;

// The unit and integration tests share `tests/terminator/support.rs`, which uses this name.
#[cfg(test)]
extern crate self as tercel_proxy;

pub use config::{
    BackendAddress, CertificateSource, CommandLineOptions, Config, ConfigError, Connect, Ech,
    EchFolder, Limits, Listener, Log, Network, OnTruncation, Resumption, Route, SharedEch, Tickets,
    Timeouts,
};
pub use ech_publish::{PublishedEchKeys, publish_ech_keys};
pub use service::proxy::{BoundProxy, Proxy, check, check_files};
pub use service::run;

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Test seam. For fuzzing: parses a PROXY header and returns its source and destination, if any,
/// and its length.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn read_proxy_header(bytes: &[u8]) -> Option<(Option<[std::net::SocketAddr; 2]>, usize)> {
    let mut rest = bytes;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = {
        let header = std::pin::pin!(connection::proxy_protocol::read::header(&mut rest));
        std::future::Future::poll(header, &mut context)
    };
    // Reading from a slice never waits.
    let std::task::Poll::Ready(read) = polled else { return None };
    let ends = read.ok()?.map(|ends| [ends.source, ends.destination]);
    Some((ends, bytes.len().saturating_sub(rest.len())))
}

/// Test seam. For fuzzing: reads a ClientHello, which is received in pieces of this size. Returns
/// the server name and the number of bytes that were received before the route was selected.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn read_client_hello(bytes: &[u8], piece: usize) -> Option<(Option<String>, usize)> {
    connection::client_hello::read_in_pieces(bytes, piece)
}
