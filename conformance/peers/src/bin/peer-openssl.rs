//! OpenSSL's program, built by `../../openssl`.
//!
//! `programs/openssl.rs` of the interop run has its command line; this driver only starts the
//! program.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Error, Result};

fn main() -> Result<()> {
    // `exec` returns only if the program could not be started.
    Err(Error::new(Command::new(tercel_peers_openssl::PROGRAM).args(env::args_os().skip(1)).exec()))
}
