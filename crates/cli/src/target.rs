//! The address of a server, and TCP connections to it.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
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

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be HOST:PORT or [IPV6]:PORT".to_owned();
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once("]:").ok_or_else(wrong)?,
            None => text.split_once(':').ok_or_else(wrong)?,
        };
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_every_form() {
        let target = |text: &str| text.parse::<Target>().map(|t| (t.host, t.port)).ok();
        assert_eq!(target("localhost:443"), Some(("localhost".to_owned(), 443)));
        assert_eq!(target("[::1]:8443"), Some(("::1".to_owned(), 8443)));
        assert_eq!(target("192.0.2.1:1"), Some(("192.0.2.1".to_owned(), 1)));
        for wrong in ["localhost", "::1:443", ":443", "[]:1", "[::1]", "a:0", "a:70000", "a:b", ""]
        {
            assert_eq!(target(wrong), None, "{wrong}");
        }
    }
}
