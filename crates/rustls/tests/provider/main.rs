//! The provider in handshakes with itself and with rustls' provider on aws-lc-rs, and its parts
//! against published vectors.

mod handshakes;
#[cfg(feature = "hpke")]
mod hpke;
mod key_exchange;
mod private_keys;
mod quic;
mod records;
mod resumption;
mod stock;
mod support;
mod wycheproof;
