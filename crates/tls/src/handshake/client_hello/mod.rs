//! The ClientHello that a client sends. RFC 9846 4.2.2

pub(crate) mod offer;
pub(crate) mod offered_key;
