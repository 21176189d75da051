//! TLS 1.2: one linear function a side, ECDHE and AEAD only. RFC 5246, RFC 8422, RFC 7627
//!
//! Must not know: TLS 1.3. One day this folder is deleted whole. Next: [`server`], [`client`].

pub(crate) mod auth;
pub(crate) mod client;
pub(crate) mod resumption;
pub(crate) mod server;
