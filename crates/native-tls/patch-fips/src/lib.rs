//! The crate `native-tls` on Tercel, with AWS-LC's FIPS module. All items are those of
//! [`tercel_native_tls`].

#![forbid(unsafe_code)]

pub use tercel_native_tls::*;
