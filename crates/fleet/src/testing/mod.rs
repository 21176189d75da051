//! Nodes against a fake store with faults on demand, and against a real server if one is
//! installed.
//!
//! There is one file for each kind of value that nodes share, and for each kind of store.

mod clients_without_key;
mod early_data;
mod ech_keys;
mod fake_store;
mod nodes;
mod over_tls;
#[cfg(unix)]
mod real_store;
mod secrets;
mod sessions;
mod store_tls;
mod ticket_keys;
mod unreachable_store;
mod unusable_store;
