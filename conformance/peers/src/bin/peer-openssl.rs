//! OpenSSL's program, built by `../../openssl`.
//!
//! The interop run has its command line (`programs/openssl.rs`); this only starts it.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Error, Result};

fn main() -> Result<()> {
    // Returns only if the program could not be started.
    Err(Error::new(Command::new(tercel_peers_openssl::PROGRAM).args(env::args_os().skip(1)).exec()))
}
