//! Addresses and names in the notation of the configuration.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use tercel::pki::DnsName;

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
    let host = DnsName::try_from(name).map_err(|_| must())?;
    // A numeric last label indicates a malformed IPv4 address.
    let last = host.as_ref().rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(must());
    }
    Ok(BackendAddress::Name(name.to_owned(), port))
}

/// Parses a server name, converts it to lowercase and removes a final dot, because clients send
/// none. A leading `*.` stands for one label.
pub(crate) fn parse_server_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    let rest = name.strip_prefix("*.").unwrap_or(name);
    if rest.contains('*') {
        return Err(format!("\"{text}\" may have a * only as its whole first label"));
    }
    if rest.len() < name.len() && !rest.contains('.') {
        return Err(format!("\"{text}\" matches every name of a top-level domain"));
    }
    if rest.parse::<std::net::IpAddr>().is_ok() {
        return Err(format!("\"{text}\" is an IP address; clients send only host names"));
    }
    // A second final dot would be removed here, too.
    if rest.ends_with('.') || DnsName::try_from(rest).is_err() {
        return Err(format!("\"{text}\" is not a host name"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../../wire/tests/material/host_names.txt");

    /// The table is shared by all places that take host names.
    #[test]
    fn each_name_of_the_table() {
        for row in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (text, expected) = row.split_once('\t').unwrap();
            let lowercase = expected.to_ascii_lowercase();
            let expected = Some(&lowercase).filter(|expected| !expected.is_empty());
            assert_eq!(parse_server_name(text).ok().as_ref(), expected, "{text}");
            // A wildcard needs two labels after it.
            let wildcard =
                expected.filter(|name| name.contains('.')).map(|name| format!("*.{name}"));
            assert_eq!(parse_server_name(&format!("*.{text}")).ok(), wildcard, "*.{text}");
            let backend = parse_backend_address(&format!("{text}:1"));
            let expected = expected.map(|_| BackendAddress::Name(text.to_owned(), 1));
            assert_eq!(backend.ok(), expected, "{text}");
        }
        assert!(parse_server_name("192.0.2.1.").is_err() && parse_server_name("::1").is_err());
        assert!(parse_backend_address("192.0.2.1.:1").is_err());
        assert!(
            parse_backend_address("a.256:1").is_err() && parse_backend_address("a.1.:1").is_err()
        );
    }
}
