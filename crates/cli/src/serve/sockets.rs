//! The sockets of the server: TCP, and for HTTP/3 also UDP at the same port.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use anyhow::{Result, anyhow};
use hyper::header::HeaderValue;
use tokio::net::TcpListener;

use crate::explain;

/// The sockets of the server.
pub(crate) struct Sockets {
    pub(crate) listener: TcpListener,
    /// The socket for HTTP/3.
    pub(crate) udp: Option<UdpSocket>,
}

/// Listens on this address, over UDP as well if `with_udp` is set.
pub(crate) async fn bind(address: SocketAddr, with_udp: bool) -> Result<Sockets> {
    let mut attempts = if address.port() == 0 { ATTEMPTS } else { 1 };
    loop {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| anyhow!(explain::listen_error(address, &error)))?;
        if !with_udp {
            return Ok(Sockets { listener, udp: None });
        }
        let bound = listener.local_addr()?;
        match UdpSocket::bind(bound) {
            Ok(udp) => return Ok(Sockets { listener, udp: Some(udp) }),
            // A free port for TCP may be in use for UDP.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts > 1 => attempts -= 1,
            Err(error) => return Err(anyhow!("UDP: {}", explain::listen_error(bound, &error))),
        }
    }
}

/// The announcement of HTTP/3 at the port of this address. RFC 7838 3, RFC 9114 3.1.1
pub(crate) fn alt_svc(address: SocketAddr) -> Result<HeaderValue> {
    Ok(HeaderValue::from_str(&format!("h3=\":{}\"; ma={MAX_AGE}", address.port()))?)
}

/// The number of free ports that are tried.
const ATTEMPTS: u32 = 16;

/// The time for which clients may remember the announcement, in seconds. The server is for tests,
/// and may run without HTTP/3 soon.
const MAX_AGE: u32 = 60;
