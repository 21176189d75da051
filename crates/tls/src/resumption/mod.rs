//! Session resumption on both sides: sessions, stores, tickets and the replay guard.
//! RFC 9846 2.2, RFC 5077

pub(crate) mod client_memory_store;
pub(crate) mod codec;
pub(crate) mod context_digest;
mod lru_map;
pub(crate) mod replay_guard;
pub(crate) mod server_memory_store;
pub(crate) mod session;
mod shards;
mod store_entry;
pub(crate) mod tickets;

#[cfg(all(test, loom))]
mod models;
