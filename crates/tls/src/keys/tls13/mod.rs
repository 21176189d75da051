//! The key schedule of TLS 1.3. Each stage has its own type, so that a secret cannot be derived
//! from the wrong stage. RFC 9846 7
//!
//! ```text
//! EarlySecret -> .into_handshake(shared) -> HandshakeSecret
//!             -> .into_traffic_secrets(transcript_hash) -> .into_keys() -> MainSecret
//! ```
//!
//! | secret of RFC 9846 7.1 | derived by | erased |
//! |---|---|---|
//! | Early Secret | [`EarlySecret`]: `new`, `for_binder`, `with_binder_key` | in `into_handshake` |
//! | binder key | `binder`, `with_binder_key` | after the binder is computed or checked |
//! | early traffic | `early_secrets` | after early data |
//! | early exporter | `early_secrets`, `early_exporter_secret` | with the connection |
//! | Handshake Secret | `into_handshake` | in `into_traffic_secrets` |
//! | handshake traffic | `into_traffic_secrets` | in `into_keys` |
//! | Finished keys | `into_keys` | after the handshake |
//! | Main Secret | `into_keys` | after the client's Finished |
//! | application traffic | `application_secrets` | at a key update, or with the connection |
//! | exporter | `application_secrets` | with the connection |
//! | resumption | `resumption_secret` | after the tickets |
//!
//! Each secret is a type that is zeroized when it is dropped.
//! Independent values are derived at once, so that their hash computations can run in parallel.
//! Therefore some values are derived one step earlier than in the RFC's figure.

mod early;
#[cfg(feature = "ech")]
mod ech_confirmation;
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
#[cfg(feature = "ech")]
pub(crate) use ech_confirmation::EchConfirmation;
pub(crate) use exporter::ExporterSecret;
pub(crate) use finished_key::FinishedKey;
pub(crate) use handshake::{HandshakeKeys, HandshakeSecret, HandshakeTraffic};
#[cfg(test)]
pub(crate) use main_secret::ApplicationSecrets;
pub(crate) use main_secret::MainSecret;
pub(crate) use resumption_secret::ResumptionSecret;
pub(crate) use signed_content::{CLIENT_CONTEXT, SERVER_CONTEXT, SignedContent};
pub(crate) use traffic::TrafficSecret;
