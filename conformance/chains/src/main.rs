//! Certificate chains of published suites, and generated ones, whose result is known or is that of
//! other verifiers.
//!
//! ```text
//! cargo run --release -p tercel-conformance-chains -- limbo limbo.json
//! cargo run --release -p tercel-conformance-chains -- generate --count 2000
//! ```
//!
//! A result other than the expected one needs a line with its reason, in a file of
//! `differences`; a line that explains nothing is an error as well.
//!
//! | module | content |
//! |---|---|
//! | `case` | a chain with its trust anchors, name and time, and its verification |
//! | `differences` | the files of explained differences |
//! | `limbo`, `pkits`, `bettertls` | published suites |
//! | `generator` | chains with random faults, also verified by OpenSSL and Go |

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

mod bettertls;
mod case;
mod differences;
mod generator;
mod limbo;
mod pkits;

/// Verify chains of certificates whose result is known, or is that of other verifiers.
#[derive(Parser, Debug)]
enum Options {
    /// Cases of x509-limbo
    Limbo {
        /// limbo.json of a checkout
        file: PathBuf,
    },
    /// NIST's Public Key Interoperability Test Suite
    Pkits {
        /// The folder with certs and crls: `x509/PKITS_data` of the Python package
        /// cryptography-vectors
        folder: PathBuf,
    },
    /// Cases of BetterTLS
    Bettertls {
        /// What `bettertls export-tests` of a checkout writes
        file: PathBuf,
    },
    /// Generated chains, in parallel with `openssl verify` and Go's crypto/x509
    Generate(generator::Options),
}

fn main() -> Result<ExitCode> {
    let passed = match Options::parse() {
        Options::Limbo { file } => limbo::run(&file)?,
        Options::Pkits { folder } => pkits::run(&folder)?,
        Options::Bettertls { file } => bettertls::run(&file)?,
        Options::Generate(options) => generator::run(&options)?,
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
