//! Configurations: plain values, built once, shared by reference.
//!
//! Must not know: handshakes and connections. Next: [`client`] and [`server`] for the builders,
//! [`policy`] for the decisions an application can take itself.

mod builder;
pub(crate) mod certificate_types;
pub(crate) mod client;
mod client_authorities;
mod client_sessions;
pub(crate) mod common;
pub(crate) mod compressed_forms;
pub(crate) mod compression;
pub(crate) mod credential;
pub(crate) mod error;
pub(crate) mod places;
pub(crate) mod policy;
pub(crate) mod pre_shared_key;
mod protocols;
pub(crate) mod resumption;
pub(crate) mod scheme;
pub(crate) mod server;
mod server_certificates;
mod server_sessions;
pub(crate) mod verifier;
