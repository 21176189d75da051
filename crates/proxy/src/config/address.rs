//! Addresses as a configuration writes them.
//!
//! Must not know: sockets. Next: [`crate::backend`], which connects.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Where a backend is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendAddress {
    /// An address and a port.
    Ip(SocketAddr),
    /// A host's name, looked up whenever the configuration is read, and a port.
    Name(String, u16),
    /// A Unix socket.
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

/// Where to listen: `127.0.0.1:443`, `[::1]:443`, or `:443` for every address of both versions of IP.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix(':') {
        let port = port.parse().map_err(|_| format!("\"{text}\" has no port after the colon"))?;
        return Ok(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
    }
    text.parse().map_err(|_| format!("\"{text}\" must be ADDRESS:PORT, as 127.0.0.1:443"))
}

/// `127.0.0.1:8080`, `[::1]:8080`, `name:8080` or `unix:/path`.
pub(crate) fn backend(text: &str) -> Result<BackendAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        let path = PathBuf::from(path);
        // The address of a Unix socket has 108 bytes, the last of them 0.
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
    // The last label of a name is not a number: that would be half an address.
    let last = name.rsplit('.').next().unwrap_or_default();
    if host_name(name).is_err() || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(must());
    }
    Ok(BackendAddress::Name(name.to_owned(), port))
}

/// A name that clients ask for, in lower case; `*.` in front stands for one label.
pub(crate) fn server_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_lowercase();
    let rest = name.strip_prefix("*.").unwrap_or(&name);
    if rest.contains('*') {
        return Err(format!("\"{text}\" may have a * only as its whole first label"));
    }
    if rest.len() < name.len() && !rest.contains('.') {
        return Err(format!("\"{text}\" stands for every name of a top-level domain"));
    }
    host_name(rest).map_err(|()| format!("\"{text}\" is not a host name"))?;
    if text.parse::<std::net::IpAddr>().is_ok() {
        return Err(format!("\"{text}\" is an address, which clients do not ask for by name"));
    }
    Ok(name)
}

fn host_name(name: &str) -> Result<(), ()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let label = |label: &str| {
        let outer = label.starts_with('-') || label.ends_with('-');
        (1..=63).contains(&label.len()) && label.bytes().all(allowed) && !outer
    };
    if name.len() <= 253 && name.split('.').all(label) { Ok(()) } else { Err(()) }
}
