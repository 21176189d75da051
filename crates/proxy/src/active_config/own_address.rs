//! Recognizes a passthrough route that leads to its own listener.
//!
//! Such a route relays each connection to itself: one client would use all connections and file
//! descriptors. A loop through another proxy is not recognized, and ends at the limits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::ActiveListener;
use crate::backend::endpoint::Endpoint;
use crate::config::{ConfigError, Listener};

/// Refuses passthrough routes that relay connections to their own listener.
pub(super) fn refuse_loops(
    settings: &Listener,
    listener: &ActiveListener,
    addresses: &[SocketAddr],
) -> Result<(), ConfigError> {
    for (route, active) in settings.routes.iter().zip(&listener.routes) {
        let own = active.backends.iter().find(|backend| match backend {
            Endpoint::Tcp(all) => all.iter().any(|to| reaches(*to, settings.address, addresses)),
            Endpoint::Unix(_) => false,
        });
        if let (Some(own), true) = (own, route.passthrough) {
            let reason = format!("{own} is this listener, which would relay to itself in a loop");
            return Err(route.location.error("to", reason));
        }
    }
    Ok(())
}

/// Whether a connection to this address reaches a listener with the address `own`. `listeners` are
/// the addresses of all listeners: a socket with the exact address takes precedence.
fn reaches(to: SocketAddr, own: SocketAddr, listeners: &[SocketAddr]) -> bool {
    let ip = reached(to.ip());
    if to.port() != own.port() || own.port() == 0 {
        return false;
    }
    let is_exact =
        |address: &SocketAddr| address.ip().to_canonical() == ip && address.port() == own.port();
    // `[::]` accepts IPv4 as well.
    let accepts_all = own.ip().is_unspecified() && (own.is_ipv6() || ip.is_ipv4());
    is_exact(&own) || (accepts_all && !listeners.iter().any(is_exact) && is_local(ip))
}

/// The address that a connection to `ip` reaches: the unspecified address stands for this machine.
pub(super) fn reached(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        other => other,
    }
}

/// Whether this machine has the address. A socket whose peer is the machine's own address gets the
/// same address. Connecting it sends nothing.
fn is_local(ip: IpAddr) -> bool {
    let any = match ip {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let connected = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((ip, 9))?;
        socket.local_addr()
    };
    ip.is_loopback() || connected().is_ok_and(|local| local.ip() == ip)
}

#[cfg(test)]
mod tests {
    #[test]
    fn own_addresses_are_recognized() {
        let reaches = |to: &str, own: &str, others: &[&str]| {
            let all: Vec<_> =
                others.iter().chain([&own]).map(|each| each.parse().unwrap()).collect();
            super::reaches(to.parse().unwrap(), own.parse().unwrap(), &all)
        };
        for (to, own) in [
            ("192.0.2.1:443", "192.0.2.1:443"),
            ("[2001:db8::1]:443", "[2001:db8::1]:443"),
            ("[::ffff:192.0.2.1]:443", "192.0.2.1:443"),
            ("127.0.0.1:443", "0.0.0.0:443"),
            ("127.9.9.9:443", "[::]:443"),
            ("0.0.0.0:443", "[::]:443"),
            ("0.0.0.0:443", "127.0.0.1:443"),
            ("[::]:443", "[::1]:443"),
        ] {
            assert!(reaches(to, own, &[]), "{to} {own}");
        }
        for (to, own) in [
            ("192.0.2.1:444", "192.0.2.1:443"),
            ("192.0.2.2:443", "192.0.2.1:443"),
            // An address for documentation, which no machine has.
            ("192.0.2.1:443", "[::]:443"),
            ("[2001:db8::1]:443", "[::]:443"),
            ("[::1]:443", "0.0.0.0:443"),
            ("127.0.0.1:0", "127.0.0.1:0"),
        ] {
            assert!(!reaches(to, own, &[]), "{to} {own}");
        }
        assert!(!reaches("127.0.0.1:443", "[::]:443", &["127.0.0.1:443"]));
        assert!(reaches("127.0.0.1:443", "[::]:443", &["127.0.0.1:444"]));
    }
}
