//! Verification of generated chains, one module for each subject.
//!
//! `support` makes authorities, leaves and revocation lists; every chain is verified for one fixed
//! time.

#[path = "../ocsp_maker/mod.rs"]
mod ocsp_maker;

mod algorithms;
mod anchors;
mod describe;
mod explanations;
mod hostile;
mod loading;
mod must_staple;
mod names;
mod ocsp;
mod paths;
mod pins;
mod reasons;
mod revocation;
mod signature_cache;
mod support;
mod tls_server_end_point;
mod uri_and_email_names;
