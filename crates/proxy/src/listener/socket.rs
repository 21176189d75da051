//! Listening sockets. Each worker has a socket for each address; the system distributes
//! connections among them.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Backlog of the accept queue; the system may cap it.
pub(super) const BACKLOG: i32 = 4096;

/// Opens a socket with an address that the sockets of other workers share (SO_REUSEPORT).
///
/// Port 0 may be used only for the first worker; the others bind the port that the system chose.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // With this option, the address can be bound while connections of a previous process are in
    // TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        // `[::]` accepts both IPv4 and IPv6, independently of the system's default.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    prepare(&socket.into())
}

/// Prepares an inherited socket, which all workers share.
pub(crate) fn prepare(listener: &TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    // Accepted sockets inherit the option.
    SockRef::from(listener).set_tcp_nodelay(true)?;
    listener.try_clone()
}
