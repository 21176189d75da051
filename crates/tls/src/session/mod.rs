//! Where sessions are kept to be resumed, on either side, and what was seen once is not seen again.
//!
//! Must not know: what is in a session, handshakes, a clock. Next: [`store`] for servers,
//! [`client_store`] for clients, [`replay_guard`] for early data; `ticket/` if the client keeps them.

mod aged;
pub(crate) mod chain;
pub(crate) mod client_store;
pub(crate) mod client_value;
pub(crate) mod context;
pub(crate) mod credential_id;
mod form;
mod kept;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod parts;
pub(crate) mod replay_guard;
pub(crate) mod server_value;
mod shards;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod stored;
