//! HTTPS for hyper, axum and tonic: [`HttpsConnector`] for clients, [`HttpsListener`] for servers.
//!
//! # Client
//!
//! ```
//! use http_body_util::Empty;
//! use hyper::body::Bytes;
//! use hyper_util::client::legacy::Client;
//! use hyper_util::rt::TokioExecutor;
//! use tercel_hyper::{HttpsConnector, tercel::ClientConfig};
//!
//! # async fn get() -> Result<(), Box<dyn std::error::Error>> {
//! let config = ClientConfig::builder().native_roots().alpn(&["h2", "http/1.1"]).build()?;
//! let client: Client<_, Empty<Bytes>> =
//!     Client::builder(TokioExecutor::new()).build(HttpsConnector::new(config));
//! let response = client.get("https://example.com/".parse()?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The version of HTTP follows from ALPN: a connector whose configuration names `h2` uses HTTP/2
//! with servers that choose it. tonic's client takes the same connector
//! (`Endpoint::connect_with_connector`).
//!
//! # Server
//!
//! ```no_run
//! # #[cfg(feature = "axum")]
//! # async fn serve(app: axum::Router) -> Result<(), Box<dyn std::error::Error>> {
//! use tercel_hyper::{HttpsListener, tercel::{Credential, ServerConfig}};
//!
//! let (chain, key) = (std::fs::read("chain.pem")?, std::fs::read("key.pem")?);
//! let credential = Credential::from_pem(&chain, &key)?;
//! let config = ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]).build()?;
//! axum::serve(HttpsListener::bind("[::]:8443", config).await?, app).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A certificate that is renewed while the server runs takes one expression in place of the
//! credential, and the files are watched:
//!
//! ```no_run
//! # fn config() -> Result<(), Box<dyn std::error::Error>> {
//! use tercel_hyper::tercel::{ServerConfig, files::CertificateWatcher};
//!
//! let watcher = CertificateWatcher::new("chain.pem", "key.pem");
//! let credentials = watcher.start(|change| eprintln!("{change}"))?;
//! let config = ServerConfig::builder().replaceable_credentials(credentials).build()?;
//! # let _ = config; Ok(()) }
//! ```
//!
//! # Features
//!
//! `axum` and `tonic` make [`HttpsListener`] a listener of axum and a stream of connections for
//! tonic. The other features are those of [`tercel`].

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "axum")]
mod axum;
mod connector;
mod connector_stream;
mod info;
mod listener;
#[cfg(feature = "tonic")]
mod tonic;

pub use connector::HttpsConnector;
pub use connector_stream::MaybeHttpsStream;
pub use info::{ConnectInfo, TlsInfo};
pub use listener::HttpsListener;
#[cfg(feature = "tonic")]
pub use tonic::GrpcStream;

pub use tercel_tokio::{self, tercel};

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
