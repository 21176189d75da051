//! The crate `native-tls` on Tercel. All items are those of [`tercel_native_tls`], whose README
//! contains the lines of a program's `Cargo.toml` that select this package.

#![forbid(unsafe_code)]

pub use tercel_native_tls::*;
