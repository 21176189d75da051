//! TLS 1.3: one linear function a side. RFC 9846
//!
//! Must not know: TLS 1.2. Next: [`server`] and [`first_flight`], [`client`].

pub(crate) mod auth;
mod basis;
pub(crate) mod client;
pub(crate) mod first_flight;
mod fresh;
pub(crate) mod resumption;
pub(crate) mod secrets;
pub(crate) mod server;
pub(crate) mod server_hello;
pub(crate) mod settle;
