//! Encrypted ClientHello in handshakes of both sides. RFC 9849 6, 7
//!
//! On a server, [`server`] replaces the received ClientHello by the inner one before anything is
//! negotiated. On a client, [`client`] writes both ClientHellos, and the ServerHello decides with
//! which of them the handshake continues. Without the feature `ech`, both are replaced by
//! `disabled`, whose functions are compiled to nothing.

#[cfg(feature = "ech")]
pub(crate) mod client;
#[cfg(feature = "ech")]
mod confirmation;
#[cfg(not(feature = "ech"))]
mod disabled;
#[cfg(feature = "ech")]
mod outer_hello;
#[cfg(feature = "ech")]
pub(crate) mod server;

#[cfg(not(feature = "ech"))]
pub(crate) use disabled::{client, server};

use crate::handshake::transcript::Transcript;

/// The offer of a client's handshake; `None` if the configuration decides.
#[cfg(feature = "ech")]
pub(crate) type RequestedOffer = Option<Box<crate::ech::Offer>>;
/// Without the feature `ech`, nothing can be offered.
#[cfg(not(feature = "ech"))]
pub(crate) type RequestedOffer = Option<std::convert::Infallible>;

/// An encoded ClientHello.
pub(crate) struct Written {
    /// The ClientHello for the transcript.
    pub(crate) message: Vec<u8>,
    /// The ClientHello to send, if it is another one.
    pub(crate) sent: Option<Vec<u8>>,
    pub(crate) transcript: Option<Box<Transcript>>,
}
