//! A TLS terminator.

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
