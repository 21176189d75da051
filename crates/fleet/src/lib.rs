//! Session resumption across a fleet of servers: a client can resume its session on any node.
//!
//! Nodes share state through Redis or Valkey, or through a file. A [`Fleet`] is one node of the
//! fleet:
//!
//! ```no_run
//! use std::sync::Arc;
//! use tercel::{Credential, ServerConfig};
//! use tercel_fleet::{Fleet, Settings, StoreSettings, TicketKeys};
//! use tercel_tokio::{Acceptor, Answers};
//!
//! fn acceptor(credential: Credential) -> Result<Acceptor, Box<dyn std::error::Error>> {
//!     let url = "rediss://node:password@store.example:6379/0";
//!     let mut store = StoreSettings::new(url, "/etc/tercel/fleet.secret");
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
//! - **Ticket keys** ([`Settings::ticket_keys`]): the session is in the ticket, and every node can
//!   open it. A handshake does not need the store. With keys from the store, one node rotates
//!   them, and all nodes have the next key before any node seals with it.
//! - **Sessions** ([`Settings::sessions`]): the session is in the store, and the client has an
//!   identifier for it. In TLS 1.3 each session can be resumed once, across all nodes. A TLS 1.2
//!   session whose connection ended with a fatal alert is removed from the store.
//! - **Keys for Encrypted ClientHello** ([`Settings::ech_keys`]): all nodes have the keys that the
//!   operator has published ([`Fleet::publish_ech_keys`]). A handshake does not need the store.
//! - **The replay guard** ([`Settings::early_data`]): early data that was admitted by one node is
//!   not admitted again by any node.
//!
//! # For the operator
//!
//! - The *fleet secret* is a file of at least 32 bytes, the same on every node (`openssl rand -hex
//!   32`), readable only by the server or its group. Keys and sessions are encrypted with it, and
//!   session IDs are hashed with it, so the store learns none of them. A store that returns false
//!   replies can still prevent resumption, return a session twice, or admit early data twice.
//!   [`FleetSecrets`] describes how to rotate the secret.
//! - While the store is unavailable, handshakes are full handshakes, or use the last known ticket
//!   keys. With these keys, a node still opens tickets, and seals new tickets for at least one and
//!   at most two more [ticket lifetimes](Settings::ticket_lifetime); after that no tickets are
//!   issued until the store is available again. The last keys for Encrypted ClientHello stay in
//!   use, also after a restart if there is a [file](Settings::ech_key_cache) for them. Early data
//!   is refused at once. Only handshakes in progress when the store fails wait for it, each for at
//!   most [`StoreSettings::time_limit`].
//! - The clocks of nodes and store must be accurate to a few seconds.
//! - Early data is refused for [`Fleet::blind_time`] after the store was unavailable, restarted,
//!   emptied or replaced. It is refused altogether, with the reason in the log, while the store
//!   may evict keys (`maxmemory-policy` other than `noeviction`), while the clocks of store and
//!   node differ by more than [`StoreSettings::clock_difference`], or if the store has replicas
//!   without `min-replicas-to-write`: a store that was cut off would still serve some nodes
//!   while its successor serves others. Set `min-replicas-max-lag` (10 seconds by default) to at
//!   most a minute. The module `early_data` explains why that is enough.
//! - If a session to be removed is not in the store, an empty entry is stored for a week, so that
//!   a delayed write of that session is refused. RFC 5246 7.2.2
//! - The store can be one server, or a primary with replicas behind one address. A cluster that
//!   spreads keys over servers, a Sentinel and a replica count as unavailable, with the reason in
//!   the log.
//! - Commands used, of Redis 6.2 or later, or Valkey: `PING`, `INFO`, `TIME`, `GET`,
//!   `GETRANGE`, `SET`, `DEL`, `PEXPIRE`, `MULTI`, `EXEC`, `EVAL`, and `AUTH` or `SELECT` if the
//!   URL has credentials or a database, on keys that begin with `tercel:`.
//!
//! # Features
//!
//! `redis` (default): a store. Without it, [`Settings::store`] is refused, and nodes can share only
//! ticket keys, in a file.
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | configure what is shared, and where | [`Settings`], [`StoreSettings`], [`TicketKeys`] |
//! | join a fleet | [`Fleet`] |
//! | monitor a node | [`Fleet::counts`], [`Fleet::state`], events of `tracing` |
//! | publish keys for Encrypted ClientHello | [`EchKeySet`], [`Fleet::publish_ech_keys`] |
//! | write a file of ticket keys | [`TicketKeys::File`] |
//! | rotate the fleet secret | [`FleetSecrets`], [`Fleet::use_secrets`] |
//! | replace certificates of connections to the store | [`StoreTls`], [`Fleet::use_store_tls`] |
//! | understand a failure | [`FleetError`] |
//!
//! # Modules
//!
//! Lowest first: a module uses only itself and the modules above it in this table.
//!
//! | module | holds |
//! |---|---|
//! | `error` | [`FleetError`] |
//! | `counters` | counts of store requests and their outcomes |
//! | `hex` | hexadecimal text |
//! | `settings` | [`Settings`], [`StoreSettings`], and the parsing of store URLs |
//! | `secrets` | the fleet secret, the keys derived from it, files that hold secrets |
//! | `store` | connections to Redis or Valkey, and the commands sent over them |
//! | `sealed_set` | keys that all nodes have, sealed in the store |
//! | `ech_keys` | keys for Encrypted ClientHello from the store |
//! | `early_data` | the replay guard |
//! | `ticket_keys` | ticket keys from a file or from the store |
//! | `sessions` | sessions in the store, their removal, the check that nodes share one secret |
//! | `node` | the parts of a node, and the thread that maintains them |
//! | `fleet` | [`Fleet`], the public handle |

#![cfg_attr(docsrs, feature(doc_cfg))]
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

mod counters;
mod early_data;
mod ech_keys;
mod error;
mod fleet;
mod hex;
mod node;
mod sealed_set;
mod secrets;
mod sessions;
mod settings;
mod store;
#[cfg(all(test, feature = "redis"))]
mod testing;
mod ticket_keys;

pub use counters::Counts;
pub use ech_keys::EchKeySet;
pub use error::FleetError;
pub use fleet::{Fleet, State};
pub use secrets::FleetSecrets;
pub use secrets::files::is_exposed;
pub use settings::{Settings, StoreSettings, TicketKeys};
pub use store::client::StoreTls;

/// Test seam. Parses a file of ticket keys, for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn ticket_keys_in_file(content: &[u8]) -> Option<tercel::session::TicketKeySet> {
    ticket_keys::file::parse(content).ok()
}

/// Test seam. For fuzzing: encrypts `content`, which need not be a valid set of ticket keys, in the
/// way in which a set of ticket keys is encrypted for the store.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn sealed_for_store(secret: &[u8], number: u64, content: &[u8]) -> Option<Vec<u8>> {
    ticket_keys::shared::any::seal_any(
        &secrets::secret::FleetSecret::new(secret, "fuzzing"),
        number,
        content,
    )
}

/// Test seam. Opens a set of ticket keys from the store, for fuzzing: its number and its keys.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn opened_from_store(
    secret: &[u8],
    sealed: &[u8],
) -> Option<(u64, tercel::session::TicketKeySet)> {
    ticket_keys::shared::any::open_any(
        &secrets::secret::FleetSecret::new(secret, "fuzzing"),
        sealed,
    )
}

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
