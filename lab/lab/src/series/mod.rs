//! `lab openssl`: a comparison of OpenSSL releases with each other.
//!
//! The workers are in `lab/series`, the jobs in [`lab_scenario::series`].

mod figures;
mod files;
mod page;
pub mod report;
pub(crate) mod run;
mod tables;
pub(crate) mod text;
