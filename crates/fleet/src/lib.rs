//! Resumption across a fleet of servers: a client comes back to any node, whichever it was with before.
//!
//! What nodes share lies in Redis or Valkey, or in a file. A [`Fleet`] holds a node's part of it:
//!
//! ```no_run
//! use std::sync::Arc;
//! use tercel::{Credential, ServerConfig};
//! use tercel_fleet::{Fleet, Settings, StoreSettings, TicketKeys};
//! use tercel_tokio::{Acceptor, Answers};
//!
//! fn acceptor(credential: Credential) -> Result<Acceptor, Box<dyn std::error::Error>> {
//!     let mut store = StoreSettings::new("rediss://node:password@store.example:6379/0", "/etc/tercel/fleet.secret");
//!     store.roots = Some("/etc/tercel/store-ca.pem".into());
//!     let fleet = Fleet::connect(&Settings {
//!         ticket_keys: TicketKeys::Store,
//!         early_data: 16_384,
//!         store: Some(store),
//!         ..Settings::default()
//!     })?;
//!     let config = fleet.apply(ServerConfig::builder().credential(credential)).build()?;
//!     Ok(Acceptor::new(config).answers(fleet.answers(Answers::new())))
//! }
//! ```
//!
//! # What nodes can share
//!
//! - **Ticket keys** ([`Settings::ticket_keys`]): the session travels in the ticket, and every node opens it. Nothing
//!   is asked of the store in a handshake. With keys from the store one node replaces them when their time has
//!   come, and all have the next key before it seals.
//! - **Sessions** ([`Settings::sessions`]): the session lies in the store and the client has a name for it. In TLS 1.3
//!   each can be resumed once, among all nodes. A session of TLS 1.2 whose connection ended with a fatal
//!   alert is taken out of the store.
//! - **The memory behind early data** ([`Settings::early_data`]): what one node admitted, no node admits again.
//!
//! # For the operator
//!
//! - The *fleet secret* is a file of at least 32 bytes, the same on every node (`openssl rand -hex 32`), readable by
//!   the server alone or by its group. Keys and sessions are sealed under it: the store sees neither, nor the names
//!   of sessions. A store that lies can still deny resumption, give a session twice, or admit early data twice.
//!   [`FleetSecrets`] tells how it is followed by another one.
//! - When the store is away, handshakes go on as full ones, or with the last good ticket keys. Those keep opening;
//!   they seal for at least one and at most two [ticket lifetimes](Settings::ticket_lifetime) more, after which no new
//!   tickets are made until the store is back. Early data is refused at once. Only the handshakes under way when the
//!   store goes away wait for it, each for [`StoreSettings::time_limit`] at most.
//! - Nodes and store need clocks that are right to a few seconds.
//! - Early data is refused for [`Fleet::blind_time`] whenever the store was away, was restarted or emptied, or
//!   another one took its place. It is refused altogether, with the reason in the log, while the store may evict keys
//!   (`maxmemory-policy` other than `noeviction`), while its clock and the node's are more than
//!   [`StoreSettings::clock_difference`] apart, or if it has replicas without `min-replicas-to-write`: then a store that
//!   was cut off would go on answering some nodes beside its successor. Set `min-replicas-max-lag` (10 seconds by
//!   default) to no more than a minute. The module `early_data` says why that is enough.
//! - One server, or a primary with replicas behind one address. A cluster that spreads keys over servers, a Sentinel and
//!   a replica count as away, with the reason in the log.
//! - Commands used: `PING`, `INFO`, `TIME`, `GET`, `GETDEL` (so Redis 6.2 or later, or Valkey), `SET`, `PEXPIRE`, `MULTI`,
//!   `EXEC`, `EVAL`, and `AUTH` or `SELECT` if the address says so, on keys that begin with `tercel:`.
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | say what is shared, and where | [`Settings`], [`StoreSettings`], [`TicketKeys`] |
//! | take part | [`Fleet`] |
//! | see how it goes | [`Fleet::counts`], [`Fleet::state`], events of `tracing` |
//! | write a file of ticket keys | [`TicketKeys::File`] |
//! | let one secret follow another | [`FleetSecrets`], [`Fleet::use_secrets`] |
//! | understand a failure | [`FleetError`] |

#![forbid(unsafe_code)]
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

mod counts;
mod early_data;
mod error;
mod files;
mod fleet;
mod forgetting;
mod keeper;
mod mark;
mod node;
mod secret;
mod secrets;
mod sessions;
mod settings;
mod store;
#[cfg(test)]
mod testing;
mod ticket_keys;

pub use counts::Counts;
pub use error::FleetError;
pub use files::is_exposed;
pub use fleet::{Fleet, State};
pub use secrets::FleetSecrets;
pub use settings::{Settings, StoreSettings, TicketKeys};

/// Test seam. The keys in a file of them: for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn ticket_keys_in_file(content: &[u8]) -> Option<tercel::TicketKeySet> {
    ticket_keys::file::parse(content).ok()
}

/// Test seam. Any content, sealed as a set of ticket keys in the store is: for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn sealed_for_store(secret: &[u8], number: u64, content: &[u8]) -> Option<Vec<u8>> {
    ticket_keys::shared::any::seal_any(
        &secret::FleetSecret::new(secret, "fuzzing"),
        number,
        content,
    )
}

/// Test seam. The number and the keys that were sealed for the store: for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn opened_from_store(secret: &[u8], sealed: &[u8]) -> Option<(u64, tercel::TicketKeySet)> {
    ticket_keys::shared::any::open_any(&secret::FleetSecret::new(secret, "fuzzing"), sealed)
}
