//! TLS 1.3 and 1.2 without I/O, on AWS-LC, without `unsafe`.
//!
//! A [`Handshake`] takes received bytes and returns bytes to send. Its result is a [`Connection`],
//! whose [`Sender`] and [`Receiver`] are independent values. [`Stream`] runs them over a blocking
//! transport.
//!
//! # A client
//!
//! With the feature `native-roots`:
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use tercel::{ClientConfig, Stream};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let config = ClientConfig::builder().native_roots().build()?;
//!     let transport = std::net::TcpStream::connect("www.rust-lang.org:443")?;
//!     let mut stream = Stream::connect(&config, "www.rust-lang.org".try_into()?, transport)?;
//!     stream.write_all(b"GET / HTTP/1.0\r\nHost: www.rust-lang.org\r\n\r\n")?;
//!     let mut page = String::new();
//!     stream.read_to_string(&mut page)?;
//!     println!("{page}");
//!     Ok(())
//! }
//! ```
//!
//! # A server
//!
//! ```no_run
//! use std::io::Write;
//! use tercel::{Credential, ServerConfig, Stream};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let (chain, key) = (std::fs::read("cert.pem")?, std::fs::read("key.pem")?);
//!     let credential = Credential::from_pem(&chain, &key)?;
//!     let config = ServerConfig::builder().credential(credential).build()?;
//!     for transport in std::net::TcpListener::bind("127.0.0.1:8443")?.incoming() {
//!         let Ok(mut stream) = Stream::accept(&config, transport?) else { continue };
//!         let _ = stream.write_all(b"hello\n").and_then(|()| stream.close());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Where to look
//!
//! | task | types |
//! |---|---|
//! | configure a client or a server | [`ClientConfig`], [`ServerConfig`] |
//! | configure a certificate | [`Credential`], [`certificates::Credentials`] |
//! | renew a certificate while the server runs | [`files::CertificateWatcher`] |
//! | verify the peer differently, check OCSP | [`certificates::ChainPolicy`], [`pki::OcspPolicy`] |
//! | authenticate without certificates | [`psk`] |
//! | let the application decide, at once or later | [`Policy`], [`Question`] |
//! | connect without a blocking stream | [`Handshake::advance`] |
//! | resume sessions | [`session`]: tickets and their keys, stores of both sides |
//! | hide the server's name on the network | module `ech`, with the feature of this name |
//! | accept early data | [`session::ReplayGuard`], [`server::ServerConfigBuilder::early_data`] |
//! | authenticate a client after the handshake (TLS 1.3) | [`Stream::authenticate_client`] |
//! | see what was negotiated | [`ConnectionInfo`] |
//! | hold many idle connections | [`Connection::park`] |
//! | continue in the kernel or in another process | [`handoff`] |
//! | understand a failure | [`Error`], [`Handshake::refusal`] |
//! | restrict a configuration to FIPS 140-3 | [`fips`] |
//! | log handshakes and their failures | [Events](#events) |
//! | see the messages of a connection | module `message_tap`, with the feature `message-tap` |
//! | secure a QUIC transport | module `quic`, with the feature of this name |
//! | replace rustls | [`coming_from_rustls`] |
//!
//! # Events
//!
//! With the feature `tracing`, which is off by default, handshakes emit events for subscribers of
//! the crate `tracing`. Those of handshakes have the level DEBUG; a filter such as `tercel=debug`
//! selects them. A kernel or hash lanes that failed their [self-test](crypto::self_tests) are an
//! event of level ERROR and the target `tercel::self_test`, with the field `primitive`.
//! `native_roots` emits a WARN of the target `tercel::roots` about certificates that it leaves out.
//!
//! | event of the target `tercel::handshake` | fields in addition to `side` and `server_name` |
//! |---|---|
//! | handshake done | `version`, `cipher_suite`, `group`, `alpn`, `resumed`, `early_data` |
//! | handshake refused | `reason`, `certificate`, `alert_sent`, `alert_received` |
//!
//! | event of the target `tercel::early_data` | fields in addition to `side` and `server_name` |
//! |---|---|
//! | early data accepted | |
//! | early data rejected | `reason` |
//!
//! - `side` is this side: `client` or `server`. `server_name` is the name that the client connects
//!   to; on a server, the name that the client requested, once the handshake is done or early data
//!   is rejected.
//! - `reason` is the text of the [`Error`], or of the [`EarlyDataRejection`]. `certificate` is the
//!   text of [`Handshake::refusal`].
//! - `early_data` is `not offered`, `accepted` or `rejected`. Fields that do not apply are absent.
//! - Nothing is emitted for a handshake that the caller drops, for example after a time limit, or
//!   for a transport's error: the caller has that error.
//! - Events contain no keys, no session data and no application data. Spans of the application
//!   connect them with a connection: they are emitted during [`Handshake::advance`] and
//!   [`Handshake::end_of_input`].

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
// Bytes of a peer must not cause panics. These lints apply to the whole crate, not only to the
// modules that parse such bytes.
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

#[macro_use]
mod debug;

mod auth;
mod config;
mod connection;
#[cfg(feature = "ech")]
#[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
pub mod ech;
pub mod error;
mod events;
pub mod fips;
mod handshake;
mod io;
pub mod key_log;
mod keys;
mod known_values;
#[cfg(feature = "message-tap")]
#[cfg_attr(docsrs, doc(cfg(feature = "message-tap")))]
pub mod message_tap;
#[cfg(not(feature = "message-tap"))]
mod message_tap;
mod policy;
pub mod psk;
mod record;
mod resumption;
mod side;
mod sync;
#[cfg(test)]
mod testing;

pub use auth::credential::Credential;
pub use config::client::ClientConfig;
pub use config::server::ServerConfig;
pub use connection::Connection;
pub use connection::buffer::ReceiveBuffer;
pub use connection::export::Exporter;
pub use connection::info::{ConnectionInfo, EarlyData, EarlyDataRejection, Ech};
pub use connection::receiver::{Filled, Opened, Receiver};
pub use connection::sender::{Sealed, Sender};
pub use error::Error;
pub use handshake::question::{Answer, Question};
pub use handshake::{Handshake, Next};
pub use io::stream::Stream;
pub use policy::Policy;
pub use record::sealer::Padding;
pub use side::Side;

pub use pki_types;
pub use tercel_pki as pki;
pub use tercel_pki::ServerName;

/// The types that only a client uses: its builder, and authentication after the handshake.
pub mod client {
    pub use crate::config::client::{ClientConfig, ClientConfigBuilder};
    pub use crate::connection::post_handshake_auth::client::{
        CertificateRequested, UnsignedAuthentication,
    };
}

/// The types that only a server uses: its builder, the selection of a configuration, and
/// authentication of clients.
pub mod server {
    pub use crate::config::client_auth::ClientAuth;
    pub use crate::config::server::{ChooseConfig, ServerConfig, ServerConfigBuilder};
    pub use crate::connection::post_handshake_auth::requester::{
        CertificateRequester, PendingCertificate,
    };
    pub use crate::connection::post_handshake_auth::server::ClientCertificate;
}

/// The end of a connection over a transport: the limits of a close, and what it requires.
pub mod closing {
    pub use crate::io::drain::{HalfClose, MAX_DRAIN_TIME, MAX_DRAINED_BYTES};
}

/// Certificates: credentials and their selection, verification of peers, certificate compression.
pub mod certificates {
    #[cfg(feature = "brotli")]
    #[cfg_attr(docsrs, doc(cfg(feature = "brotli")))]
    pub use crate::auth::compression::Brotli;
    #[cfg(feature = "zlib")]
    #[cfg_attr(docsrs, doc(cfg(feature = "zlib")))]
    pub use crate::auth::compression::Zlib;
    #[cfg(feature = "zstd")]
    #[cfg_attr(docsrs, doc(cfg(feature = "zstd")))]
    pub use crate::auth::compression::Zstd;
    pub use crate::auth::compression::{CompressCertificate, DecompressionFailed};
    pub use crate::auth::credential::{
        Credential, CredentialError, CredentialRequest, Credentials, SelectCredential,
    };
    #[cfg(feature = "native-roots")]
    pub use crate::auth::native_roots::native_roots;
    pub use crate::auth::verifier::{AcceptAnyPeer, ChainPolicy, RefuseAnyPeer, TrustedRawKeys};
    pub use crate::auth::verify_peer::{PeerIdentity, VerifyPeer};
}

/// Files: a server's credential that is replaced when its files change, and watches of other files.
pub mod files {
    pub use crate::io::files::credential::{
        CredentialBytes, CredentialFiles, LoadedCredential, contains_private_key,
    };
    pub use crate::io::files::error::{FileError, FileErrorReason};
    pub use crate::io::files::watch::{FileSnapshot, FileWatch, WatchedFiles};
    pub use crate::io::files::watcher::{CertificateChange, CertificateWatcher};
}

/// Session resumption: sessions and their stores, tickets and their keys, the replay guard of early
/// data.
pub mod session {
    pub use crate::connection::info::NewSession;
    pub use crate::resumption::client_memory_store::{ClientMemoryStore, SavedSessionsError};
    pub use crate::resumption::replay_guard::{AdmitEarlyData, ReplayGuard, ReplayGuardId};
    pub use crate::resumption::server_memory_store::ServerMemoryStore;
    pub use crate::resumption::session::client_session::ClientSession;
    pub use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};
    pub use crate::resumption::session::new_client_session::NewClientSession;
    pub use crate::resumption::session::server_session::ServerSession;
    pub use crate::resumption::session::store::{ForgetSession, ServerSessionStore};
    pub use crate::resumption::tickets::TicketSealer;
    pub use crate::resumption::tickets::rotating::RotatingTickets;
    pub use crate::resumption::tickets::shared::SharedTickets;
    pub use crate::resumption::tickets::shared::keys::{TicketKey, TicketKeyError, TicketKeySet};
}

/// Decisions that the application makes while a handshake waits: the contents of a [`Question`].
pub mod questions {
    pub use crate::handshake::question::{
        AdmitAnonymousQuestion, AdmitEarlyDataQuestion, Answer, ChooseConfigQuestion,
        ClaimSessionQuestion, FindClientSessionQuestion, FindPreSharedKeyQuestion,
        FindSessionQuestion, OpenTicketQuestion, Question, SealTicketQuestion,
        SelectCredentialQuestion, SignQuestion, VerifyPeerQuestion,
    };
}

/// Handoff of a connection: traffic keys for the kernel, and saved connections for another process.
pub mod handoff {
    pub use crate::connection::handoff::saved::RestoreError;
    pub use crate::connection::handoff::traffic_keys::{
        HandoffError, NonceForm, TrafficKey, TrafficKeys,
    };
}

/// TLS for a QUIC transport, without I/O: handshakes in CRYPTO data, and the protection of packets.
/// RFC 9001, RFC 9369
///
/// The transport sends packets, acknowledges them, and delivers CRYPTO data in order. A
/// [`Handshake`](quic::Handshake) takes that data, and returns data to send and keys. Requires the
/// feature `quic`, which is off by default. `tercel-quinn` connects this module with quinn.
///
/// One configuration serves TCP and QUIC. Over QUIC, options for older versions and for records
/// have no effect; ALPN is mandatory unless
/// [`alpn_by_other_means`](client::ClientConfigBuilder::alpn_by_other_means) is set; early data
/// needs a [context](client::ClientConfigBuilder::quic_early_data_context). A session is resumed
/// only over the transport of its handshake: TCP, or the same version of QUIC.
#[cfg(feature = "quic")]
#[cfg_attr(docsrs, doc(cfg(feature = "quic")))]
pub mod quic {
    pub use crate::connection::quic::{Connection, Ended, Incoming};
    pub use crate::handshake::quic::{Handshake, Next};
    pub use crate::handshake::runtime::levels::Level;
    pub use crate::keys::quic::initial::{initial_keys, is_valid_retry, retry_tag};
    pub use crate::keys::quic::packet::{HeaderKey, PacketKey};
    pub use crate::keys::quic::tokens::{ResetKey, TokenKey, TokenSealer};
    pub use crate::keys::quic::update::{KeyUpdates, PacketKeys};
    pub use crate::keys::quic::{DirectionKeys, Keys, Version};
}

/// The source of time of a configuration.
pub mod clock {
    pub use crate::config::clock::{Clock, SystemClock};
}

/// The code points and messages of this interface, with the names of IANA's TLS registries.
pub mod wire {
    pub use tercel_wire::{
        AlertDescription, CertificateCompressionAlgorithm, CertificateType, CipherSuite,
        ClientCertificateType, ClientHello, ContentType, DecodeError, DistinguishedName,
        HandshakeType, List, NamedGroup, ProtocolName, ProtocolVersion, SignatureScheme,
    };
}

/// The cryptographic types of this interface: signers, algorithms, hash lanes, kernels.
pub mod crypto {
    pub use tercel_crypto::{
        AeadAlgorithm, CryptoError, HashAlgorithm, HashLanes, Kernel, KernelState, KeyKind,
        SignatureAlgorithm, Signer, SigningKey, hash_lanes, kernel_state, rejected_rsa_signatures,
        self_tests, use_hash_lanes, use_kernel,
    };
}

// The examples of this document are doctests of `tercel-tokio`, not of this crate, because one of
// them uses `tercel-tokio`.
#[cfg(all(doc, not(doctest)))]
#[doc = include_str!("../docs/coming-from-rustls.md")]
pub mod coming_from_rustls {}

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Test seam. Decodes a session from the bytes that a ticket seals, and returns it in the
/// encoding for stores.
#[cfg(all(feature = "testing", debug_assertions))]
#[must_use]
pub fn stored_session(bytes: &[u8]) -> Option<Vec<u8>> {
    resumption::session::Session::from_bytes(bytes)?.to_stored_bytes()
}
