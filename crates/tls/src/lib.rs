//! TLS 1.3 and 1.2 without I/O, on AWS-LC, without `unsafe`.
//!
//! A [`Handshake`] is given received bytes and gives bytes to send; it ends in a [`Connection`], whose
//! [`Sender`] and [`Receiver`] are independent values. [`Stream`] puts them on a blocking transport.
//!
//! # A client
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//! use tercel::{ClientConfig, Handshake, pki::Roots};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut roots = Roots::new();
//!     roots.add_pem(&std::fs::read("ca.pem")?)?;
//!     let config = ClientConfig::builder().roots(roots).alpn(&["http/1.1"]).build()?;
//!     let transport = TcpStream::connect(("localhost", 8443))?;
//!     let mut stream = Handshake::client(config, "localhost".try_into()?).complete(transport)?;
//!     stream.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
//!     let mut answer = Vec::new();
//!     stream.read_to_end(&mut answer)?;
//!     println!("{}", String::from_utf8_lossy(&answer));
//!     Ok(())
//! }
//! ```
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | say what a client or server wants | [`ClientConfig`], [`ServerConfig`] |
//! | do without certificates | [`PreSharedKey`], [`PreSharedKeys`] |
//! | show a certificate | [`Credential`], [`Credentials`] |
//! | have stapled OCSP responses checked | [`ChainPolicy::with_verifier`], [`pki::OcspPolicy`] |
//! | take a decision yourself | [`Policy`], and the traits beside it; later: [`Question`] |
//! | connect without a blocking stream | [`Handshake::advance`] |
//! | let clients come back sooner | [`RotatingTickets`], [`SharedTickets`]; [`SessionStore`], [`ClientSessionStore`] |
//! | say what sessions keep of clients, and for whom they are good | [`ServerConfigBuilder::verify_resumed`] and its neighbours |
//! | authenticate a client later (TLS 1.3) | [`ClientConfigBuilder::post_handshake_auth`]; [`Connection::request_certificate`], [`Stream::authenticate_client`] |
//! | learn what was agreed | [`Facts`] |
//! | hold many idle connections | [`Connection::park`] |
//! | go on in the kernel, or in another process | [`Connection::export_traffic_keys`], [`Connection::save`] |
//! | understand a failure | [`Error`], [`Handshake::refusal`] |

#![forbid(unsafe_code)]
// No panics from peer bytes: the whole core, not only the parts that see them first.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

mod config;
mod connection;
mod error;
mod handshake;
mod key_log;
mod keys;
mod record;
mod session;
mod sync;
#[cfg(test)]
mod testing;
mod ticket;

pub use config::client::{ClientConfig, ClientConfigBuilder};
#[cfg(feature = "brotli")]
pub use config::compression::Brotli;
#[cfg(feature = "zlib")]
pub use config::compression::Zlib;
#[cfg(feature = "zstd")]
pub use config::compression::Zstd;
pub use config::compression::{CompressCertificate, DecompressionFailed};
pub use config::credential::{Credential, CredentialError, CredentialRequest, Credentials};
pub use config::error::ConfigError;
pub use config::policy::{
    AdmitEarlyData, ChooseConfig, Clock, FindPreSharedKey, KeyLog, PeerIdentity, Policy,
    SelectCredential, Side, SystemClock, VerifyPeer,
};
pub use config::pre_shared_key::request::PreSharedKeyRequest;
pub use config::pre_shared_key::set::PreSharedKeys;
pub use config::pre_shared_key::{PreSharedKey, PreSharedKeyError};
pub use config::server::{ClientAuth, ServerConfig, ServerConfigBuilder};
pub use config::verifier::{AcceptAnyPeer, ChainPolicy, TrustedRawKeys};
pub use connection::Connection;
pub use connection::authentication::client::{CertificateRequested, UnsignedAuthentication};
pub use connection::authentication::requester::{CertificateRequester, PendingCertificate};
pub use connection::authentication::server::ClientCertificate;
pub use connection::buffer::Received;
pub use connection::export::Exporter;
pub use connection::facts::{EarlyData, Facts, NewSession};
pub use connection::receiver::{Filled, Opened, Receiver};
pub use connection::saved::RestoreError;
pub use connection::sender::{Sealed, Sender};
pub use connection::stream::Stream;
pub use connection::traffic_keys::{NonceForm, NotHandedOver, TrafficKey, TrafficKeys};
pub use error::{Error, Local, Misuse, Peer};
pub use handshake::question::{
    AdmitEarlyDataQuestion, Answer, ChooseConfigQuestion, FindPreSharedKeyQuestion,
    FindSessionQuestion, Question, SelectCredentialQuestion, SignQuestion, VerifyPeerQuestion,
};
pub use handshake::{Handshake, Next};
pub use key_log::KeyLogFile;
pub use record::sealer::Padding;
pub use session::client_store::{
    ClientMemoryStore, ClientSessionKey, ClientSessionStore, SavedSessionsError,
};
pub use session::client_value::ClientSession;
pub use session::replay_guard::ReplayGuard;
pub use session::server_value::ServerSession;
pub use session::store::{ForgetSession, MemoryStore, SessionStore};
pub use ticket::TicketSealer;
pub use ticket::rotating::RotatingTickets;
pub use ticket::shared::SharedTickets;
pub use ticket::shared::keys::{TicketKey, TicketKeyError, TicketKeySet};

pub use pki_types;
pub use tercel_crypto as crypto;
pub use tercel_pki as pki;
pub use tercel_wire as wire;

/// Test seam. The session in these bytes, which are as they are sealed, in the form for stores: for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn stored_session(bytes: &[u8]) -> Option<Vec<u8>> {
    session::state::Session::from_bytes(bytes)?.to_stored_bytes()
}
