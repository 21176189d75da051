//! The address of a server, and TCP connections to it.
//!
//! One parser serves every subcommand: it takes a host, `HOST:PORT`, `[IPV6]`, `[IPV6]:PORT`, an
//! IPv6 address, or a URL. A host that ends with a dot is resolved as it is, and an IPv6 address
//! with its zone; [`crate::client`] removes both from the name that is sent and verified. A host in
//! another script than ASCII becomes the name that DNS knows (IDNA).

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::explain;

/// A host name or IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// A server as written on the command line. The port and the path are optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    /// The scheme, if the address is a URL.
    pub(crate) scheme: Option<Scheme>,
    /// The path with the query, if there is one.
    pub(crate) path: Option<String>,
}

/// The scheme of a URL: a protocol that begins with a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Https,
    Smtps,
    Imaps,
    Pop3s,
    Ldaps,
    Ftps,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.parse()?), rest),
            None => (None, text),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if path.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err("the path has characters that must be percent-encoded".to_owned());
        }
        if path.contains('#') {
            return Err("remove the fragment (`#` and what follows); it is not sent".to_owned());
        }
        let (host, port) = host_and_port(authority)?;
        let path = match path.as_bytes().first() {
            None => None,
            // RFC 9112 3.2.1: an empty path is sent as `/`.
            Some(b'?') => Some(format!("/{path}")),
            Some(_) => Some(path.to_owned()),
        };
        // In a URL, the percent sign of a zone may be encoded. RFC 6874 2
        let host = match host.split_once("%25") {
            Some((address, zone)) if scheme.is_some() && is_ipv6(host) => {
                format!("{address}%{zone}")
            }
            _ => ascii_host(host)?.into_owned(),
        };
        Ok(Self { host, port, scheme, path })
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(text));
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is not a scheme of a protocol over TLS; known: {names}")
        })
    }
}

impl Scheme {
    const ALL: [Self; 6] =
        [Self::Https, Self::Smtps, Self::Imaps, Self::Pop3s, Self::Ldaps, Self::Ftps];

    #[cfg(feature = "http3")]
    pub(crate) fn is_https(self) -> bool {
        self == Self::Https
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Smtps => "smtps",
            Self::Imaps => "imaps",
            Self::Pop3s => "pop3s",
            Self::Ldaps => "ldaps",
            Self::Ftps => "ftps",
        }
    }

    /// The port in IANA's registry of services.
    fn port(self) -> u16 {
        match self {
            Self::Https => HTTPS_PORT,
            Self::Smtps => 465,
            Self::Imaps => 993,
            Self::Pop3s => 995,
            Self::Ldaps => 636,
            Self::Ftps => 990,
        }
    }
}

impl Address {
    /// The server, at the port of the address, of its scheme, or `default_port`.
    pub(crate) fn target(&self, default_port: u16) -> Target {
        let port = self.port.or(self.scheme.map(Scheme::port)).unwrap_or(default_port);
        Target { host: self.host.clone(), port }
    }

    /// Parses the address of a server for HTTP.
    pub(crate) fn parse_https(text: &str) -> Result<Self, String> {
        let address: Self = text.parse()?;
        match address.scheme {
            None | Some(Scheme::Https) => Ok(address),
            Some(_) => Err("the scheme must be https".to_owned()),
        }
    }

    /// The server, at port 443 unless the address says otherwise.
    pub(crate) fn https_target(&self) -> Target {
        self.target(HTTPS_PORT)
    }

    /// The host and the port, if one was given: the value of the Host field. RFC 9112 3.2
    pub(crate) fn authority(&self) -> String {
        // The zone of an address has no meaning to the server. RFC 4007 11.2
        let host = without_zone(&self.host);
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host.to_owned(),
        };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// The target of an HTTP request. RFC 9112 3.2.1
    pub(crate) fn request_target(&self) -> &str {
        self.path.as_deref().unwrap_or("/")
    }
}

/// Writes the URL of the server.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.unwrap_or(Scheme::Https).name();
        write!(f, "{scheme}://{}{}", self.authority(), self.request_target())
    }
}

/// Splits `HOST`, `HOST:PORT`, `[IPV6]`, `[IPV6]:PORT` or `IPV6`.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    if authority.contains('@') {
        return Err("a user name is not supported; write the host only".to_owned());
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("the closing bracket is missing")?;
        if !is_ipv6(host) {
            return Err(format!("`{host}` in brackets is not an IPv6 address"));
        }
        match rest.strip_prefix(':') {
            _ if rest.is_empty() => (host, None),
            Some(port) => (host, Some(port)),
            None => return Err("expected `:PORT` after the closing bracket".to_owned()),
        }
    } else if is_ipv6(authority) {
        (authority, None)
    } else {
        match authority.split_once(':') {
            Some((_, rest)) if rest.contains(':') => {
                return Err("write an IPv6 address with a port as [ADDRESS]:PORT".to_owned());
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    let port = match port.map(str::parse) {
        None => None,
        Some(Ok(port @ 1..)) => Some(port),
        Some(_) => return Err("the port must be a number from 1 to 65535".to_owned()),
    };
    Ok((host, port))
}

/// Whether this is an IPv6 address, with or without a zone. RFC 4007 11
fn is_ipv6(text: &str) -> bool {
    without_zone(text).parse::<Ipv6Addr>().is_ok()
}

/// An IPv6 address without its zone; any other host as it is. RFC 4007 11
pub(crate) fn without_zone(host: &str) -> &str {
    match host.split_once('%') {
        Some((address, _zone)) if address.parse::<Ipv6Addr>().is_ok() => address,
        _ => host,
    }
}

/// A host in the form of DNS: a name in another script is converted. RFC 5891 4
pub(crate) fn ascii_host(host: &str) -> Result<Cow<'_, str>, String> {
    if host.is_ascii() {
        return Ok(Cow::Borrowed(host));
    }
    let converted = idna::domain_to_ascii(host);
    converted.map(Cow::Owned).map_err(|_| format!("`{host}` is not an internationalized name"))
}

impl Target {
    /// Resolves the host to all its addresses.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let Self { host, port } = self;
        let addresses = (host.as_str(), *port).to_socket_addrs();
        Ok(addresses.with_context(|| format!("cannot resolve {host}"))?.collect())
    }

    /// Connects to the first address that accepts. `timeout` is the limit for all addresses
    /// together.
    pub(crate) fn connect(&self, timeout: Duration) -> Result<TcpStream> {
        let deadline = Instant::now() + timeout;
        let Self { host, .. } = self;
        let addresses = self.addresses()?;
        let mut last = None;
        for (index, address) in addresses.iter().enumerate() {
            match connect(address, deadline, addresses.len() - index) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = Some((address, error)),
            }
        }
        let Some((address, error)) = last else { bail!("no address found for {host}") };
        let why = match explain::is_timeout(&error) {
            true => format!("timed out after {} s", timeout.as_secs()),
            false => explain::io_error(&error),
        };
        Err(anyhow!("cannot connect to {address}: {why}"))
    }
}

/// Connects to an address. `left` is the number of addresses that are not tried yet, this one
/// included: each of them gets an equal share of the time until the deadline.
fn connect(address: &SocketAddr, deadline: Instant, left: usize) -> io::Result<TcpStream> {
    let remaining = deadline.saturating_duration_since(Instant::now());
    let share = remaining / u32::try_from(left).unwrap_or(u32::MAX);
    if share.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    TcpStream::connect_timeout(address, share)
}

const HTTPS_PORT: u16 = 443;

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, u16, String, String) {
        let address: Address = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        let target = address.https_target();
        (target.host, target.port, address.authority(), address.request_target().to_owned())
    }

    /// RFC 4007 11, 11.2, RFC 5891 4, RFC 6874 2
    #[test]
    fn servers_of_every_form() {
        for (text, host, port, authority) in [
            ("localhost", "localhost", 443, "localhost"),
            ("localhost:8443", "localhost", 8443, "localhost:8443"),
            ("a.example.", "a.example.", 443, "a.example."),
            ("192.0.2.1", "192.0.2.1", 443, "192.0.2.1"),
            ("192.0.2.1:1", "192.0.2.1", 1, "192.0.2.1:1"),
            ("::1", "::1", 443, "[::1]"),
            ("::1:443", "::1:443", 443, "[::1:443]"),
            ("[::1]", "::1", 443, "[::1]"),
            ("[::1]:8443", "::1", 8443, "[::1]:8443"),
            ("fe80::1%eth0", "fe80::1%eth0", 443, "[fe80::1]"),
            ("[fe80::1%eth0]:1", "fe80::1%eth0", 1, "[fe80::1]:1"),
            ("https://[fe80::1%eth0]/", "fe80::1%eth0", 443, "[fe80::1]"),
            ("https://[fe80::1%25eth0]/", "fe80::1%eth0", 443, "[fe80::1]"),
            ("b\u{fc}cher.example:1", "xn--bcher-kva.example", 1, "xn--bcher-kva.example:1"),
            ("https://B\u{dc}CHER.example/", "xn--bcher-kva.example", 443, "xn--bcher-kva.example"),
        ] {
            let expected = (host.to_owned(), port, authority.to_owned(), "/".to_owned());
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    /// RFC 9112 3.2.1
    #[test]
    fn urls_have_a_path_and_a_default_port() {
        for (text, port, authority, path) in [
            ("https://a", 443, "a", "/"),
            ("HTTPS://a:1/b?c=d", 1, "a:1", "/b?c=d"),
            ("https://a?c", 443, "a", "/?c"),
            ("https://[::1]/", 443, "[::1]", "/"),
            ("[::1]:5/x", 5, "[::1]:5", "/x"),
            ("a:5/x", 5, "a:5", "/x"),
            ("smtps://a", 465, "a", "/"),
            ("imaps://a", 993, "a", "/"),
            ("ldaps://a:10636", 10636, "a:10636", "/"),
        ] {
            let (_, found_port, found_authority, found_path) = parts(text);
            let found = (found_port, found_authority.as_str(), found_path.as_str());
            assert_eq!(found, (port, authority, path), "{text}");
        }
        let url: Address = "HTTPS://a:1?c".parse().unwrap();
        assert_eq!(url.to_string(), "https://a:1/?c");
        assert!(Address::parse_https("https://a").is_ok() && Address::parse_https("a").is_ok());
        assert!(Address::parse_https("smtps://a").is_err());
        assert_eq!("a".parse::<Address>().unwrap().target(25).port, 25);
    }

    #[test]
    fn other_forms_are_refused_with_a_reason() {
        for (text, why) in [
            ("", "host is missing"),
            (":443", "host is missing"),
            ("https://", "host is missing"),
            ("https://:1/", "host is missing"),
            ("[]:1", "not an IPv6 address"),
            ("[localhost]:1", "not an IPv6 address"),
            ("[::1", "bracket"),
            ("[::1]443", "after the closing bracket"),
            ("::g:443", "[ADDRESS]:PORT"),
            ("a:0", "from 1 to 65535"),
            ("a:70000", "from 1 to 65535"),
            ("a:b", "from 1 to 65535"),
            ("a:", "from 1 to 65535"),
            ("http://a/", "`http` is not a scheme"),
            ("xn--\u{fc}.example", "not an internationalized name"),
            ("https://user:secret@a/", "user name"),
            ("https://user@a/", "user name"),
            ("a:1/b c", "percent-encoded"),
            ("a:1/\r\n", "percent-encoded"),
            ("a:1/#b", "fragment"),
        ] {
            let refused = text.parse::<Address>().unwrap_err();
            assert!(refused.contains(why), "{text:?}: {refused}");
        }
    }
}
