//! The events of a handshake, for the crate `tracing`.
//!
//! The section "Events" of `lib.rs` lists them. `Handshake` reports to [`Events`], so blocking and
//! asynchronous callers have the same events.

#[cfg(not(feature = "tracing"))]
mod disabled;
#[cfg(feature = "tracing")]
mod enabled;

#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::Events;
#[cfg(feature = "tracing")]
pub(crate) use enabled::Events;
