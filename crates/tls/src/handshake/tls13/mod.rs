//! TLS 1.3 handshakes of both sides. RFC 9846
//!
//! [`server`] and [`client`] list the steps. `retry` selects suite and group for a ClientHello, and
//! sends the server's HelloRetryRequest. `server_hello` processes the client's side of both
//! messages. [`resumption`] handles the server's pre-shared keys, [`auth`] the Certificate
//! messages, and [`secrets`] the key schedule in the order in which a handshake needs it.

pub(crate) mod auth;
pub(crate) mod client;
mod parameters;
pub(crate) mod resumption;
mod retry;
pub(crate) mod secrets;
pub(crate) mod server;
mod server_hello;
mod server_random;
