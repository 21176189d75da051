//! Rows over QUIC, for libraries that implement the crypto traits of quinn, and for libraries that
//! make handshakes only.
//!
//! The lab takes the place of quinn: it passes CRYPTO data from one side to the other, takes keys,
//! and seals and opens packets, in the calls and the order of quinn. No packets of the handshake
//! are made, because their protection is that of the rows of packets.
//!
//! | topic | see |
//! |---|---|
//! | adding a library | [`Provider`], [`QuicWorker`] |
//! | one end of a connection | `endpoint.rs` |
//! | the keys of a connection | `keys.rs` |
//! | libraries without protection of packets | `handshake_only.rs` |
//! | keys from the secrets that those give | `secrets.rs` |
//! | units of the transport between both ends | `units.rs` |
//! | negotiated parameters | `messages.rs` |
//! | packets | `packets.rs` |

#![forbid(unsafe_code)]

mod endpoint;
mod handshake_only;
mod keys;
mod messages;
mod packets;
mod secrets;
mod units;
mod worker;

pub use handshake_only::{HandshakeOnly, QuicHandshake, append, can};
pub use secrets::{KeyFunctions, Keyring};
pub use units::Kind;
pub use worker::{
    ALPN, EARLY_DATA_CONTEXT, EitherTransport, PARAMETERS, Provider, QuicWorker, Sides,
};
