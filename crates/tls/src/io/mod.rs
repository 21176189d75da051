//! Handshakes and connections over a blocking transport.
//!
//! `complete` runs a handshake; [`stream`] provides the connection as `Read` and `Write`; [`drain`]
//! is about its end. [`files`] is about credentials in files.

mod complete;
pub(crate) mod drain;
pub(crate) mod files;
pub(crate) mod stream;
