//! Key material of rounds: keys, certificates and memory placements.
//!
//! Confidence intervals do not cover effects that all rounds share. The time of an RSA signature
//! may depend on the key and on the key's address, in a different way in each library. So each
//! round of a row has new keys, which are the same for all peers, and each process has a new memory
//! placement. All of them are derived from the seed of the run.
//!
//! See `placement.rs` of [`lab_scenario`] for the use of placements in workers.

mod assignment;
mod certificates;
mod der;
mod files;
pub(crate) mod keys;
pub(crate) mod placement;
mod rsa;
pub(crate) mod temporary_folder;

pub(crate) use files::KeyMaterial;
