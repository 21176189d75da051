//! The program `openssl` in a version newer than the distributions', and with compression.

#![forbid(unsafe_code)]

/// The path of the program.
pub const PROGRAM: &str = env!("OPENSSL_PROGRAM");
