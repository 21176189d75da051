//! Certificates as both sides of TLS 1.3 show and read them, in the handshake and after it. RFC 9846 4.5
//!
//! Must not know: handshakes. Next: [`certificate`].

pub(crate) mod certificate;
pub(crate) mod compression;
pub(crate) mod shown;
