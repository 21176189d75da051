//! Verification of generated chains, one module for each subject.
//!
//! `support` makes authorities, leaves and revocation lists; every chain is verified for one fixed
//! time.

#[path = "../ocsp_maker/mod.rs"]
mod ocsp_maker;
#[path = "../pem_cases/mod.rs"]
mod pem_cases;

mod algorithms;
mod anchors;
mod anchors_of_one_name;
mod chain_end;
mod constrained_names;
mod describe;
mod explanations;
mod host_names;
mod hostile;
mod loading;
mod must_staple;
mod names;
mod ocsp;
mod openssl_stores;
mod paths;
mod pem;
mod pins;
mod reasons;
mod revocation;
mod signature_cache;
mod support;
mod tls_server_end_point;
mod uri_and_email_names;
mod validation;
