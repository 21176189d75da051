//! Listening sockets inherited from a service manager: a systemd socket unit, or `systemfd`.
//!
//! With inherited sockets the process needs no privileges for port 443, and connections wait in the
//! queue while it is restarted.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;
use nix::sys::socket::{getsockopt, sockopt};

/// An inherited listening socket.
#[derive(Debug)]
pub struct InheritedSocket {
    /// The name of the socket: `FileDescriptorName=` of the socket unit, or the unit's name.
    pub name: Option<String>,
    /// The socket, in nonblocking mode.
    pub listener: TcpListener,
}

/// Takes the inherited listening sockets, in their order; a second call returns none.
///
/// Call it before any thread starts: it removes environment variables, so that child processes do
/// not use them.
///
/// # Errors
///
/// If a descriptor is not a listening TCP socket.
pub fn inherited_listeners() -> io::Result<Vec<InheritedSocket>> {
    // The names are read first, because taking the sockets removes the variables.
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names =
        names.split(':').map(|name| Some(name.to_owned()).filter(|name| !name.is_empty()));
    let mut sockets = ListenFd::from_env();
    let mut inherited = Vec::new();
    for index in 0..sockets.len() {
        let name = names.next().flatten();
        let refused = |error: io::Error| {
            let named = name.as_deref().unwrap_or("unnamed");
            let text = format!("inherited socket {index} ({named}): {error}");
            io::Error::new(error.kind(), text)
        };
        let Some(listener) = sockets.take_tcp_listener(index).map_err(refused)? else { continue };
        let listens = getsockopt(&listener, sockopt::AcceptConn).map_err(io::Error::from);
        if !listens.map_err(refused)? {
            // A socket unit with Accept=yes passes connections, one for each process.
            return Err(refused(io::Error::new(
                io::ErrorKind::InvalidInput,
                "socket is not listening",
            )));
        }
        listener.set_nonblocking(true).map_err(refused)?;
        inherited.push(InheritedSocket { name, listener });
    }
    Ok(inherited)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    use super::*;
    use crate::testing::{in_child, run_in_child};

    /// Makes the child inherit a socket as from a service manager, but with the same descriptor
    /// number as here.
    fn hand_over(command: &mut std::process::Command, socket: &impl AsRawFd, names: &str) {
        let number = socket.as_raw_fd().to_string();
        command.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", number);
        command.env("LISTEN_FDNAMES", names);
    }

    fn keep_across_exec(socket: &impl std::os::fd::AsFd) {
        fcntl(socket, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    }

    #[test]
    fn inherited_socket_keeps_its_name() {
        if in_child() {
            let inherited = inherited_listeners().unwrap();
            assert_eq!(inherited.len(), 1);
            assert_eq!(inherited[0].name.as_deref(), Some("https"));
            drop(inherited[0].listener.accept().unwrap());
            let nobody = inherited[0].listener.accept().unwrap_err();
            assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock);
            assert!(inherited_listeners().unwrap().is_empty(), "already taken");
            assert!(std::env::var_os("LISTEN_FDS").is_none());
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        keep_across_exec(&listener);
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        run_in_child(
            "system::socket_activation::tests::inherited_socket_keeps_its_name",
            |command| {
                hand_over(command, &listener, "https");
            },
        );
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "accepted and closed by the child");
    }

    #[test]
    fn inherited_datagram_socket_is_refused() {
        if in_child() {
            let error = inherited_listeners().unwrap_err().to_string();
            assert!(error.contains("inherited socket 0 (metrics)"), "{error}");
            return;
        }
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        keep_across_exec(&socket);
        run_in_child(
            "system::socket_activation::tests::inherited_datagram_socket_is_refused",
            |command| {
                hand_over(command, &socket, "metrics");
            },
        );
    }

    #[test]
    fn inherited_connection_is_refused() {
        if in_child() {
            let error = inherited_listeners().unwrap_err().to_string();
            assert!(error.contains("is not listening"), "{error}");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        keep_across_exec(&client);
        run_in_child(
            "system::socket_activation::tests::inherited_connection_is_refused",
            |command| {
                hand_over(command, &client, "connection");
            },
        );
    }

    #[test]
    fn sockets_for_another_process_are_ignored() {
        if in_child() {
            assert!(inherited_listeners().unwrap().is_empty());
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        keep_across_exec(&listener);
        run_in_child(
            "system::socket_activation::tests::sockets_for_another_process_are_ignored",
            |command| {
                hand_over(command, &listener, "https");
                command.env("LISTEN_PID", "1");
            },
        );
    }
}
