//! TLS 1.3: one linear function a side. RFC 9846
//!
//! Must not know: TLS 1.2. Next: [`server`], [`client`].

pub(crate) mod auth;
mod basis;
pub(crate) mod client;
mod fresh;
pub(crate) mod resumption;
pub(crate) mod secrets;
pub(crate) mod server;
pub(crate) mod settle;
