//! Listening sockets. Each worker has a socket for each address; the system distributes
//! connections among them.

use std::io;
use std::net::{SocketAddr, TcpListener};

#[cfg(target_os = "linux")]
use socket2::SockFilter;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Backlog of the accept queue; the system may cap it.
pub(super) const BACKLOG: i32 = 4096;

/// A listening socket of one worker.
#[derive(Debug)]
pub(crate) struct ListeningSocket {
    pub(crate) socket: TcpListener,
    /// Whether the socket was inherited. Then other workers share it, and the service manager keeps
    /// it open for the next process.
    pub(crate) is_inherited: bool,
}

/// Opens a socket with an address that the sockets of other workers share (SO_REUSEPORT).
///
/// Port 0 may be used only for the first worker; the others bind the port that the system chose.
pub(crate) fn bind(address: SocketAddr) -> io::Result<ListeningSocket> {
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
    prepare(&socket)?;
    Ok(ListeningSocket { socket: socket.into(), is_inherited: false })
}

/// An inherited socket, which all workers share.
pub(crate) fn inherit(listener: &TcpListener) -> io::Result<ListeningSocket> {
    prepare(&SockRef::from(listener))?;
    Ok(ListeningSocket { socket: listener.try_clone()?, is_inherited: true })
}

fn prepare(socket: &Socket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    // Accepted sockets inherit the option.
    socket.set_tcp_nodelay(true)
}

/// Makes the system ignore the first packet (SYN) of each new connection to this socket, so that
/// no connection is in its queue when it is closed: the system would reset that one. Clients whose
/// packet is ignored send it again after a second, and reach another process or are refused.
/// Connections of which the system has the first packet can still be accepted.
#[cfg(target_os = "linux")]
pub(super) fn ignore_new_connections(socket: &SockRef<'_>) -> io::Result<()> {
    // A program for the kernel's packet filter (classic BPF). Packets begin with the TCP header.
    // https://docs.kernel.org/networking/filter.html
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    socket.attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ignore_new_connections(_: &SockRef<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_are_accepted_or_refused_but_not_reset() {
        let bound = bind("127.0.0.1:0".parse().unwrap()).unwrap().socket;
        let address = bound.local_addr().unwrap();
        let early = TcpStream::connect(address).unwrap();
        ignore_new_connections(&SockRef::from(&bound)).unwrap();
        // Another process listens on the address, or soon will.
        let late = std::thread::spawn(move || TcpStream::connect(address).unwrap());
        let (accepted, client) = bound.accept().unwrap();
        assert_eq!(client, early.local_addr().unwrap());
        drop(bound);
        let next = bind(address).unwrap().socket;
        next.set_nonblocking(false).unwrap();
        let (_, client) = next.accept().unwrap();
        assert_eq!(client, late.join().unwrap().local_addr().unwrap());
        drop(accepted);
    }

    #[test]
    fn shared_socket_keeps_its_queue() {
        let bound = TcpListener::bind("127.0.0.1:0").unwrap();
        let inherited = inherit(&bound).unwrap();
        assert!(inherited.is_inherited);
        let _client = TcpStream::connect(bound.local_addr().unwrap()).unwrap();
        drop(inherited);
        bound.set_nonblocking(false).unwrap();
        bound.accept().unwrap();
    }
}
