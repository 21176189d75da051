//! TLS 1.3 handshakes of both sides. RFC 9846
//!
//! - Both sides: [`authentication_messages`] has Certificate, CertificateVerify and Finished;
//!   [`secrets`] has the key schedule in the order in which a handshake needs it.
//! - Client: [`client`] lists the steps; `server_hello` processes HelloRetryRequest and
//!   ServerHello.
//! - Server: [`server`] lists the steps; `parameters` selects suite, group and external key;
//!   `hello_retry_request` requests a second ClientHello; `server_random` draws the public random
//!   values; [`resumption`] handles pre-shared keys, early data and tickets.

pub(crate) mod authentication_messages;
pub(crate) mod client;
mod hello_retry_request;
mod parameters;
pub(crate) mod resumption;
pub(crate) mod secrets;
pub(crate) mod server;
mod server_hello;
mod server_random;
