//! Chains made on the spot, accepted and refused: one module per matter.
//!
//! `support` makes authorities, leaves and revocation lists; everything is verified for one fixed moment.

#[path = "../ocsp_maker/mod.rs"]
mod ocsp_maker;

mod algorithms;
mod describe;
mod hostile;
mod loading;
mod must_staple;
mod names;
mod ocsp;
mod paths;
mod pins;
mod reasons;
mod remembered;
mod revocation;
mod support;
