//! Handshakes and connections over a blocking transport.
//!
//! `complete` runs a handshake; [`stream`] provides the connection as `Read` and `Write`.

mod complete;
pub(crate) mod stream;
