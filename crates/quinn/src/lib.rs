//! TLS for [quinn](https://docs.rs/quinn), on [`tercel`]: QUIC without rustls in the tree.
//!
//! [`QuicClientConfig`] and [`QuicServerConfig`] implement the traits of quinn's module `crypto`.
//! They are made from configurations of [`tercel`], which may also serve TCP.
//!
//! ```no_run
//! use tercel_quinn::{QuicClientConfig, client_config, client_endpoint, tercel::ClientConfig};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! # let roots = tercel::pki::Roots::new();
//! let tls = ClientConfig::builder().roots(roots).alpn(&["h3"]).build()?;
//! let endpoint = client_endpoint("[::]:0".parse()?)?;
//! let config = client_config(QuicClientConfig::try_from(tls)?);
//! let connection = endpoint.connect_with(config, "[::1]:4433".parse()?, "localhost")?.await?;
//! # let _ = connection; Ok(()) }
//! ```
//!
//! - quinn is built without its features for rustls. Its functions that need them, such as
//!   `Endpoint::client`, are replaced by those of this crate.
//! - Quinn has no way to wait for an answer of the application, so a configuration with an option
//!   that asks (`Policy::Ask`, a remote key) is refused: [`QuicConfigError::Asks`].
//! - The application protocol is mandatory, unless `alpn_by_other_means` is set.
//! - 0-RTT needs `quic_early_data_context` on both sides, `early_data` on the client, and
//!   `early_data` with a replay guard on the server. The context has to contain everything on which
//!   0-RTT data depends, such as the limits of the server's transport configuration.
//! - Encrypted ClientHello: servers have keys in their [`tercel::ServerConfig`], and a client's
//!   offer is that of [`QuicClientConfig::ech`].
//! - `Connection::handshake_data` is a [`HandshakeData`], or a [`TlsFailure`] if TLS ended the
//!   connection. `Connection::peer_identity` is a `Vec<CertificateDer<'static>>`, as with rustls.
//! - QUIC has version 1 here: quinn does not form packets of version 2.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod config;
#[cfg(feature = "endpoints")]
mod endpoint;
mod keys;
mod session;
mod tokens;

pub use config::{QuicClientConfig, QuicConfigError, QuicServerConfig};
#[cfg(feature = "endpoints")]
#[cfg_attr(docsrs, doc(cfg(feature = "endpoints")))]
pub use endpoint::{
    client_config, client_endpoint, endpoint_config, server_config, server_endpoint,
};
pub use session::{HandshakeData, TlsFailure};
pub use tokens::{ResetKey, TokenKey};

pub use quinn_proto;
pub use tercel;

/// The program of this crate's README is compiled as a test.
#[cfg(all(doctest, feature = "endpoints"))]
#[doc = include_str!("../README.md")]
struct Readme;
