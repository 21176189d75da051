//! A TLS terminator: what `tercel proxy` runs.
//!
//! Clients come in over TLS, their bytes go out to backends in the clear, and back.
//!
//! Must not know: the protocol, which is the crate `tercel`'s. Unix only.

#![forbid(unsafe_code)]
#![cfg(unix)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

pub mod admin;
pub mod certificates;
pub mod logs;
pub mod metrics;
pub mod system;

#[cfg(test)]
mod testing;
