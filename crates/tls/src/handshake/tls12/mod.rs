//! TLS 1.2, with ECDHE and AEAD suites only. RFC 5246, RFC 8422, RFC 7627

mod certificate_messages;
pub(crate) mod client;
mod finished;
mod key_exchange;
mod resumption;
pub(crate) mod server;
