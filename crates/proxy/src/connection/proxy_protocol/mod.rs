//! The PROXY protocol: a header that transmits the addresses of a proxied connection.
//!
//! Section numbers refer to HAProxy's specification, `proxy-protocol.txt`.

pub(crate) mod read;
pub(crate) mod write;

use std::net::SocketAddr;

/// Source and destination address of a proxied connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
}

/// The signature of version 2. Section 2.2
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// The version, 2, in the high four bits, and the command in the low four bits.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// Address families and transport protocols.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
