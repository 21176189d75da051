//! The key schedule of TLS 1.3: one type per stage, so that a secret cannot be derived from the wrong one.
//! RFC 9846 7
//!
//! ```text
//! EarlySecret -> .into_handshake(shared) -> HandshakeSecret -> .into_traffic_secrets(hello) -> .into_keys() -> MainSecret
//! ```
//! What does not depend on each other is asked for at once, so that the hash function's work can be done side by side. So some
//! values are made a step before the RFC's figure shows them: never before all that goes into them is settled.
//!
//! Must not know: messages, sockets, who is client. Next: [`early`], the first stage; `handshake/tls13/`, which walks
//! them.

mod early;
mod exporter;
mod handshake;
pub(super) mod label;
mod main_secret;
mod resumption;
mod signed_content;
#[cfg(test)]
mod tests;
mod traffic;

pub(crate) use early::{EarlySecret, PskKind};
pub(crate) use exporter::ExporterSecret;
pub(crate) use handshake::{FinishedKey, HandshakeKeys, HandshakeSecret};
#[cfg(test)]
pub(crate) use main_secret::ApplicationSecrets;
pub(crate) use main_secret::MainSecret;
pub(crate) use resumption::ResumptionSecret;
pub(crate) use signed_content::{CLIENT_CONTEXT, SERVER_CONTEXT, SignedContent};
pub(crate) use traffic::TrafficSecret;
