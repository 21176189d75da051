//! The name by which a client knows a server.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use tercel_wire::HostName;

/// A server's name: a DNS name or an IP address.
///
/// The rule for DNS names is the same as for received names ([`HostName`]), and permissive: labels
/// are letters, digits, hyphens and underscores in any order, and a final dot is removed. Names in
/// other scripts have to be converted to this form first (IDNA). In a certificate a name has no
/// final dot: one that has it matches no server (RFC 5280 4.2.1.6).
///
/// ```
/// use tercel_pki::ServerName;
///
/// # fn main() -> Result<(), tercel_pki::InvalidServerName> {
/// let name = ServerName::try_from("www.example.com.")?;
/// assert_eq!(name, ServerName::try_from("WWW.example.com")?);
/// assert!(matches!(ServerName::try_from("::1")?, ServerName::IpAddress(_)));
/// assert!(ServerName::try_from("not a name").is_err());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerName<'a> {
    /// A DNS name.
    DnsName(DnsName<'a>),
    /// An IP address. Clients do not send it. RFC 6066 3
    IpAddress(IpAddr),
}

impl ServerName<'_> {
    /// The name as text.
    #[must_use]
    pub fn to_str(&self) -> Cow<'_, str> {
        match self {
            Self::DnsName(name) => Cow::Borrowed(name.as_ref()),
            Self::IpAddress(address) => Cow::Owned(address.to_string()),
        }
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_owned(&self) -> ServerName<'static> {
        match self {
            Self::DnsName(name) => ServerName::DnsName(name.to_owned()),
            Self::IpAddress(address) => ServerName::IpAddress(*address),
        }
    }
}

impl fmt::Display for ServerName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DnsName(name) => f.write_str(name.as_ref()),
            Self::IpAddress(address) => address.fmt(f),
        }
    }
}

impl<'a> TryFrom<&'a str> for ServerName<'a> {
    type Error = InvalidServerName;

    fn try_from(text: &'a str) -> Result<Self, InvalidServerName> {
        if let Ok(address) = text.parse() {
            return Ok(Self::IpAddress(address));
        }
        DnsName::try_from(text).map(Self::DnsName)
    }
}

impl TryFrom<String> for ServerName<'static> {
    type Error = InvalidServerName;

    fn try_from(text: String) -> Result<Self, InvalidServerName> {
        ServerName::try_from(&*text).map(|name| name.to_owned())
    }
}

impl From<IpAddr> for ServerName<'_> {
    fn from(address: IpAddr) -> Self {
        Self::IpAddress(address)
    }
}

impl TryFrom<&pki_types::ServerName<'_>> for ServerName<'static> {
    type Error = InvalidServerName;

    fn try_from(name: &pki_types::ServerName<'_>) -> Result<Self, InvalidServerName> {
        Self::try_from(name.to_str().into_owned())
    }
}

/// A DNS name without a final dot. Names that differ only in case are equal. RFC 4343 3
#[derive(Clone)]
pub struct DnsName<'a>(Text<'a>);

/// Copies of an owned name share their memory.
#[derive(Clone)]
enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl DnsName<'_> {
    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_owned(&self) -> DnsName<'static> {
        DnsName(Text::Shared(match &self.0 {
            Text::Borrowed(name) => Arc::from(*name),
            Text::Shared(name) => Arc::clone(name),
        }))
    }
}

impl AsRef<str> for DnsName<'_> {
    fn as_ref(&self) -> &str {
        match &self.0 {
            Text::Borrowed(name) => name,
            Text::Shared(name) => name,
        }
    }
}

impl<'a> TryFrom<&'a str> for DnsName<'a> {
    type Error = InvalidServerName;

    fn try_from(text: &'a str) -> Result<Self, InvalidServerName> {
        let name = HostName::new(text.as_bytes()).map_err(|_| InvalidServerName)?;
        // An address with a final dot is not a name.
        if name.is_ip_address() {
            return Err(InvalidServerName);
        }
        Ok(Self(Text::Borrowed(name.as_str())))
    }
}

impl fmt::Debug for DnsName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_ref(), f)
    }
}

impl PartialEq for DnsName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref().eq_ignore_ascii_case(other.as_ref())
    }
}

impl Eq for DnsName<'_> {}

impl Hash for DnsName<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().bytes().for_each(|byte| state.write_u8(byte.to_ascii_lowercase()));
    }
}

/// The text is neither a DNS name nor an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidServerName;

impl fmt::Display for InvalidServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a DNS name or an IP address")
    }
}

impl Error for InvalidServerName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_final_dot_is_no_name() {
        assert_eq!(ServerName::try_from("127.0.0.1."), Err(InvalidServerName));
        assert!(matches!(ServerName::try_from("127.0.0.1"), Ok(ServerName::IpAddress(_))));
    }

    #[test]
    fn names_of_pki_types_are_converted() {
        for text in ["a.example", "a.example.", "127.0.0.1", "::1"] {
            let other = pki_types::ServerName::try_from(text).unwrap();
            assert_eq!(ServerName::try_from(&other), ServerName::try_from(text), "{text}");
        }
    }
}
