//! X.509 certificates for Tercel: chains, names, trust anchors, revocation.
//!
//! This crate builds and validates paths (RFC 5280 6); `tercel-crypto` verifies signatures. Leaves
//! of private services can be pinned, the work that a hostile chain can cause is bounded, and a
//! refusal has a precise reason. It handles no TLS messages, sends no alerts (each
//! [`RefusalReason`] names its alert, which the `tercel` crate sends), and uses no sockets and no
//! clock.
//!
//! # Map
//!
//! | task | see |
//! |---|---|
//! | set the trust anchors | [`Roots`] |
//! | verify a chain | [`ChainVerifier`], built by [`ChainVerifierBuilder`] |
//! | check revocation lists | [`RevocationPolicy`] |
//! | check stapled OCSP responses | [`OcspPolicy`] |
//! | diagnose a refusal | [`Refusal`], [`RefusalReason`], [`ChainEnd`] |
//! | verify a signature by the leaf's key | [`end_entity_public_key`] |
//! | choose signature algorithms for certificates | [`CertificateAlgorithm`] |
//! | list the signature algorithms of a chain | [`signature_algorithms`] |
//! | print a certificate | [`CertificateSummary`], [`ReadableTime`] |
//! | read PEM files | [`load_certs_pem`], [`load_key_pem`], [`load_public_keys_pem`] |
//! | read other sections of PEM files | [`pem_sections`] |
//! | say what a PEM file contains | [`PemContents`] |
//! | say what a wrong file contains | [`FileContent`] |
//! | name a server | [`ServerName`] |
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use pki_types::{CertificateDer, UnixTime};
//! use tercel_pki::{ChainVerifier, Refusal, Roots, ServerName, Trust, Usage};
//!
//! fn check(
//!     chain: &[CertificateDer<'_>],
//!     authority: &[u8],
//! ) -> Result<Trust, Box<dyn std::error::Error>> {
//!     let mut roots = Roots::new();
//!     roots.add_pem(authority)?;
//!     let verifier = ChainVerifier::builder(Arc::new(roots)).build()?;
//!     let name = ServerName::try_from("service.example")?;
//!     Ok(verifier.verify(Usage::Server, chain, Some(&name), None, UnixTime::now())?)
//! }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod algorithms;
mod anchor;
mod budget;
mod certificate;
mod chain_end;
mod der;
mod distinguished_names;
mod file_content;
mod ocsp;
mod path;
mod pem;
mod reason;
mod refusal;
mod revocation;
mod roots;
mod server_name;
#[cfg(feature = "native-roots")]
mod system_store;
mod time;
mod verifier;

pub use algorithms::CertificateAlgorithm;
pub use anchor::{NotAnAnchor, NotAuthority};
pub use certificate::{
    CertificateSummary, Usage, allows_usage, common_name, constrained_common_name, dns_names,
    email_names, end_entity_public_key, has_malformed_validity, is_authority, issuer,
    legacy_end_entity_public_key, not_after, signature_algorithms, spiffe_id, subject_names,
    subject_public_key_info, tls_server_end_point, uri_names,
};
pub use chain_end::{ChainEnd, NearestAnchor};
pub use file_content::FileContent;
pub use ocsp::OcspPolicy;
pub use pem::{
    PemContents, PemError, PemSection, PemUse, load_certs_pem, load_key_pem, load_public_keys_pem,
    pem_sections,
};
pub use reason::RefusalReason;
pub use refusal::Refusal;
pub use revocation::{RevocationPolicy, UnreadableCrl};
#[cfg(feature = "native-roots")]
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
pub use roots::NativeRoots;
pub use roots::{Roots, RootsError};
pub use server_name::{DnsName, InvalidServerName, ServerName};
pub use time::ReadableTime;
pub use verifier::{ChainVerifier, ChainVerifierBuilder, NoTrustConfigured, Staple, Trust};

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
