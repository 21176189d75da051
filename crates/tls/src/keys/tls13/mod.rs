//! The key schedule of TLS 1.3. Each stage has its own type, so that a secret cannot be derived
//! from the wrong stage. RFC 9846 7
//!
//! ```text
//! EarlySecret -> .into_handshake(shared) -> HandshakeSecret
//!             -> .into_traffic_secrets(transcript_hash) -> .into_keys() -> MainSecret
//! ```
//!
//! Independent values are derived at once, so that their hash computations can run in parallel.
//! Therefore some values are derived one step earlier than in the RFC's figure.

mod early;
mod exporter;
mod finished_key;
mod handshake;
mod main_secret;
mod resumption_secret;
mod signed_content;
#[cfg(test)]
mod tests;
mod traffic;

pub(crate) use early::{EarlySecret, PskKind};
pub(crate) use exporter::ExporterSecret;
pub(crate) use finished_key::FinishedKey;
pub(crate) use handshake::{HandshakeKeys, HandshakeSecret};
#[cfg(test)]
pub(crate) use main_secret::ApplicationSecrets;
pub(crate) use main_secret::MainSecret;
pub(crate) use resumption_secret::ResumptionSecret;
pub(crate) use signed_content::{CLIENT_CONTEXT, SERVER_CONTEXT, SignedContent};
pub(crate) use traffic::TrafficSecret;
