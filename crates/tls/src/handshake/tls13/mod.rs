//! TLS 1.3 handshakes of both sides. RFC 9846
//!
//! [`server`] and [`client`] list the steps. `parameters` chooses suite and group for a
//! ClientHello; `retry` has the server's HelloRetryRequest, and `server_hello` the client's side.
//! [`resumption`] has the server's pre-shared keys, [`auth`] the Certificate messages, [`secrets`]
//! the key schedule in the order in which a handshake needs it.

pub(crate) mod auth;
pub(crate) mod client;
mod parameters;
pub(crate) mod resumption;
mod retry;
pub(crate) mod secrets;
pub(crate) mod server;
mod server_hello;
mod server_random;
