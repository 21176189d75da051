//! A TLS terminator: what `tercel proxy` runs.
//!
//! Clients come in over TLS, their bytes go out to backends in the clear, and back.
//!
//! Must not know: the protocol, which is the crate `tercel`'s. Unix only.

#![forbid(unsafe_code)]
#![cfg(unix)]
