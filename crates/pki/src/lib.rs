//! Certificates for Tercel: chains, names, trust anchors, revocation.
//!
//! Path building is `webpki`'s; signatures are verified by `tercel-crypto`. This crate joins the two, adds what users of
//! private services need (pinned leaves), bounds the work a hostile chain can cause, and says precisely why a chain was
//! refused. It knows no TLS: no messages, no alerts (each [`RefusalReason`] names the alert it calls for, the `tercel`
//! crate sends it), no sockets and no clock.
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | say whom to trust | [`Roots`] |
//! | verify a chain | [`ChainVerifier`], built by [`ChainVerifierBuilder`] |
//! | ask for revocation checks by list | [`RevocationPolicy`] |
//! | ask for checks of stapled OCSP responses | [`OcspPolicy`] |
//! | understand a refusal | [`Refusal`], [`RefusalReason`] |
//! | verify what the leaf's key signed | [`end_entity_public_key`] |
//! | choose signature algorithms for certificates | [`CertificateAlgorithm`] |
//! | know how a chain of our own is signed | [`signature_algorithms`] |
//! | print a certificate | [`CertificateSummary`], [`ReadableTime`] |
//! | read PEM files | [`load_certs_pem`], [`load_key_pem`] |
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use pki_types::{CertificateDer, ServerName, UnixTime};
//! use tercel_pki::{ChainVerifier, Refusal, Roots, Trust, Usage};
//!
//! fn check(chain: &[CertificateDer<'_>], authority: &[u8]) -> Result<Trust, Box<dyn std::error::Error>> {
//!     let mut roots = Roots::new();
//!     roots.add_pem(authority)?;
//!     let verifier = ChainVerifier::builder(Arc::new(roots)).build()?;
//!     let name = ServerName::try_from("service.example")?;
//!     Ok(verifier.verify(Usage::Server, chain, Some(&name), None, UnixTime::now())?)
//! }
//! ```

#![forbid(unsafe_code)]

mod algorithms;
mod certificate;
mod der;
mod ocsp;
mod pem;
mod refusal;
mod revocation;
mod roots;
mod time;
mod verifier;

pub use algorithms::CertificateAlgorithm;
pub use certificate::{
    CertificateSummary, common_name, dns_names, end_entity_public_key, issuer, not_after,
    signature_algorithms, subject_names, subject_public_key_info,
};
pub use ocsp::OcspPolicy;
pub use pem::{PemError, load_certs_pem, load_key_pem};
pub use refusal::{Refusal, RefusalReason};
pub use revocation::{RevocationPolicy, UnreadableCrl};
#[cfg(feature = "native-roots")]
pub use roots::NativeRoots;
pub use roots::{Roots, RootsError};
pub use time::ReadableTime;
pub use verifier::{ChainVerifier, ChainVerifierBuilder, NothingTrusted, Staple, Trust, Usage};
