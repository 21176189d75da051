//! Configurations: plain values that are built once and shared by reference.

mod builder;
mod certificate_compression;
mod certificate_request;
pub(crate) mod client;
pub(crate) mod client_auth;
mod client_authorities;
mod client_sessions;
pub(crate) mod clock;
pub(crate) mod common;
mod protocols;
pub(crate) mod resumption;
pub(crate) mod server;
mod server_sessions;
mod usable_psks;
