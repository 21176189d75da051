//! OpenSSL's own program, which `../../openssl` builds.
//!
//! The harness knows its command line (`programs/openssl.rs` there); here it is only started.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Error, Result};

fn main() -> Result<()> {
    // Comes back only if the program could not be started.
    Err(Error::new(Command::new(tercel_peers_openssl::PROGRAM).args(env::args_os().skip(1)).exec()))
}
