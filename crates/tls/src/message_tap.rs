//! A tap that sees the protocol messages of one connection: handshake messages, change_cipher_spec,
//! alerts. With the feature `message-tap`.
//!
//! `TapCell` is in the state that both directions of a connection share. Without the feature, it is
//! empty, and its functions are compiled to nothing.

#[cfg(not(feature = "message-tap"))]
mod disabled;
#[cfg(feature = "message-tap")]
mod enabled;
#[cfg(feature = "message-tap")]
mod handshake_values;

#[cfg(feature = "message-tap")]
pub use enabled::{Direction, MessageTap};
#[cfg(feature = "message-tap")]
pub use handshake_values::HandshakeValues;

#[cfg(feature = "message-tap")]
pub(crate) use enabled::TapCell;

#[cfg(not(feature = "message-tap"))]
pub(crate) use disabled::TapCell;
