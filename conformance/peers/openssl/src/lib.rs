//! The program `openssl`, a version newer than the distributions' and with compression.

#![forbid(unsafe_code)]

/// Where it was built.
pub const PROGRAM: &str = env!("OPENSSL_PROGRAM");
