//! The PROXY protocol: a header ahead of a connection that says who is at its other end.
//!
//! Its words are those of its specification, `proxy-protocol.txt` of HAProxy, whose sections are named.
//! Must not know: sockets but to read from one. Next: [`read`], [`write`].

pub(crate) mod read;
pub(crate) mod write;

use std::net::SocketAddr;

/// Both ends of a connection as its client sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
}

/// The first bytes of a header of version 2. Section 2.2
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Version 2 in the high bits; commands in the low ones.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// Address families and transport protocols.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
