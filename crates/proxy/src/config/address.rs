//! Addresses and names in the notation of the configuration.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// The configured address of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendAddress {
    /// An IP address and a port.
    Ip(SocketAddr),
    /// A host name, resolved whenever the configuration is loaded, and a port.
    Name(String, u16),
    /// A Unix domain socket.
    Unix(PathBuf),
}

impl fmt::Display for BackendAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{address}"),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Parses a listen address: `127.0.0.1:443`, `[::1]:443`, or `:443` for all IPv4 and IPv6
/// addresses.
pub(crate) fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix(':') {
        let port = port.parse().map_err(|_| format!("\"{text}\" has no port after the colon"))?;
        return Ok(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
    }
    text.parse().map_err(|_| format!("\"{text}\" must be ADDRESS:PORT, for example 127.0.0.1:443"))
}

/// Parses `127.0.0.1:8080`, `[::1]:8080`, `name:8080` or `unix:/path`.
pub(crate) fn parse_backend_address(text: &str) -> Result<BackendAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        let path = PathBuf::from(path);
        // `sun_path` has 108 bytes, of which the last is the terminating zero.
        if !path.is_absolute() || path.as_os_str().len() > 107 {
            return Err(format!("\"{text}\" must have an absolute path of at most 107 bytes"));
        }
        return Ok(BackendAddress::Unix(path));
    }
    let must = || format!("\"{text}\" must be ADDRESS:PORT, NAME:PORT or unix:PATH");
    if let Ok(address) = text.parse::<SocketAddr>() {
        if address.port() == 0 {
            return Err(format!("\"{text}\" has no port to connect to"));
        }
        return Ok(BackendAddress::Ip(address));
    }
    let (name, port) = text.rsplit_once(':').ok_or_else(must)?;
    let port = port.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(must)?;
    // A numeric last label indicates a malformed IPv4 address.
    let last = name.rsplit('.').next().unwrap_or_default();
    if check_host_name(name).is_err() || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(must());
    }
    Ok(BackendAddress::Name(name.to_owned(), port))
}

/// Parses a server name and converts it to lowercase. A leading `*.` stands for one label.
pub(crate) fn parse_server_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_lowercase();
    let rest = name.strip_prefix("*.").unwrap_or(&name);
    if rest.contains('*') {
        return Err(format!("\"{text}\" may have a * only as its whole first label"));
    }
    if rest.len() < name.len() && !rest.contains('.') {
        return Err(format!("\"{text}\" matches every name of a top-level domain"));
    }
    check_host_name(rest).map_err(|()| format!("\"{text}\" is not a host name"))?;
    if text.parse::<std::net::IpAddr>().is_ok() {
        return Err(format!("\"{text}\" is an IP address; clients send only host names"));
    }
    Ok(name)
}

fn check_host_name(name: &str) -> Result<(), ()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let label = |label: &str| {
        let outer = label.starts_with('-') || label.ends_with('-');
        (1..=63).contains(&label.len()) && label.bytes().all(allowed) && !outer
    };
    if name.len() <= 253 && name.split('.').all(label) { Ok(()) } else { Err(()) }
}
