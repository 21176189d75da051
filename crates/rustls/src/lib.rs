//! A [`CryptoProvider`] for [rustls](https://docs.rs/rustls) 0.23 with the cryptography of
//! [Tercel](https://github.com/tercel-tls/tercel#readme).
//!
//! A program that uses rustls keeps its code, and has one more line, before its first
//! configuration is made:
//!
//! ```
//! tercel_rustls::default_provider().install_default().expect("no other provider is installed");
//!
//! # let roots = rustls::RootCertStore::empty();
//! let config =
//!     rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
//! assert_eq!(config.crypto_provider().cipher_suites.len(), 9);
//! ```
//!
//! Libraries on rustls, such as reqwest, hyper-rustls, tonic, ureq, axum-server and quinn, use the
//! installed provider. A configuration can also have it for itself, by
//! `ClientConfig::builder_with_provider`.
//!
//! The names are those of rustls' module `crypto::aws_lc_rs`, so a program that selects suites or
//! groups replaces the path in its `use`.
//!
//! | rustls' interface | here |
//! |---|---|
//! | suites of TLS 1.3 and 1.2 | `tls13.rs`, `tls12.rs`, both over `records.rs` |
//! | packets of QUIC | `quic.rs` |
//! | hashes, HKDF, PRF | `hash.rs`, `key_derivation.rs` |
//! | key exchange | `key_exchange.rs` |
//! | private keys | `sign.rs` |
//! | verification of signatures, and their memory | `verify.rs`, `signature_memory.rs` |
//! | tickets | `ticketer.rs` |
//! | HPKE (feature `hpke`) | `hpke.rs` |
//! | random bytes | `random.rs` |
//!
//! - Only one AWS-LC is linked: rustls' own providers need not be compiled. Set `default-features =
//!   false` for rustls where the program declares it.
//! - The provider does not claim FIPS 140-3: [`CryptoProvider::fips`] is false.
//! - Keys under id-RSASSA-PSS are refused, as by rustls' own providers.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

pub mod cipher_suite;
mod error;
mod hash;
#[cfg(feature = "hpke")]
#[cfg_attr(docsrs, doc(cfg(feature = "hpke")))]
pub mod hpke;
mod key_derivation;
mod key_exchange;
pub mod kx_group;
mod quic;
mod random;
mod records;
pub mod sign;
mod signature_memory;
mod ticketer;
#[cfg(feature = "tls12")]
mod tls12;
mod tls13;
mod verify;

pub use cipher_suite::{ALL_CIPHER_SUITES, DEFAULT_CIPHER_SUITES};
pub use kx_group::{ALL_KX_GROUPS, DEFAULT_KX_GROUPS};
pub use signature_memory::with_signature_memory;
pub use ticketer::Ticketer;

pub use rustls;

use rustls::crypto::CryptoProvider;

/// The provider: all of rustls' suites, the groups of [`DEFAULT_KX_GROUPS`], and the signature
/// algorithms of rustls' default provider. As with that provider, a client may authenticate with
/// ML-DSA also in TLS 1.2, because rustls does not report the version to a provider.
///
/// ```
/// use std::sync::Arc;
/// use tercel_rustls::rustls::ServerConfig;
///
/// # fn run() -> Result<(), tercel_rustls::rustls::Error> {
/// let builder = ServerConfig::builder_with_provider(Arc::new(tercel_rustls::default_provider()));
/// let builder = builder.with_safe_default_protocol_versions()?;
/// # let _ = builder; Ok(()) }
/// ```
#[must_use]
pub fn default_provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: DEFAULT_CIPHER_SUITES.to_vec(),
        kx_groups: DEFAULT_KX_GROUPS.to_vec(),
        signature_verification_algorithms: verify::SUPPORTED,
        secure_random: &random::Random,
        key_provider: &sign::Keys,
    }
}

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
