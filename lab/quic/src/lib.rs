//! Rows over QUIC, for libraries that implement the crypto traits of quinn.
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
//! | units of the transport between both ends | `units.rs` |
//! | negotiated parameters | `messages.rs` |
//! | packets | `packets.rs` |

#![forbid(unsafe_code)]

mod endpoint;
mod keys;
mod messages;
mod packets;
mod units;
mod worker;

pub use messages::Seen;
pub use units::{Kind, Units, write as write_unit};
pub use worker::{ALPN, EARLY_DATA_CONTEXT, EitherTransport, Provider, QuicWorker, Sides};
