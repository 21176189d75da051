//! The data of HTTPS and SVCB records, in which DNS publishes configurations. RFC 9460, RFC 9848
//!
//! This module reads and writes the records, and does not look them up.

mod characters;
mod text;
mod value;
mod wire;

use core::fmt;

use super::{ConfigList, ConfigListError};

/// The data of an HTTPS or SVCB record; both types have the same form. RFC 9460 2
///
/// [`Self::from_rdata`] reads the bytes of a record, which a resolver returns that does not know
/// its type. The text of a zone file, or of `dig`, is read by [`str::parse`], and written by
/// [`ToString::to_string`]:
///
/// ```
/// use tercel::ech::{ConfigList, Key, ServiceBinding};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let configs = Key::generate("cover.example", 64)?.config();
/// let record = ServiceBinding::service(&["h2", "http/1.1"], &configs)?;
/// println!("example.com. 300 IN HTTPS {record}");
///
/// let again = ServiceBinding::from_rdata(&record.to_rdata())?;
/// assert_eq!(again.ech(), Some(configs));
/// # Ok(()) }
/// # run().unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceBinding {
    priority: u16,
    /// The labels, each with its length. The root is empty.
    target: Vec<u8>,
    /// In the order of their keys.
    parameters: Vec<(u16, Vec<u8>)>,
}

/// The reason why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceBindingError {
    /// The data ends within a field.
    Truncated,
    /// Bytes follow the data that was announced.
    TrailingData,
    /// The target is not a domain name: it is too long, has an empty or too long label, or is
    /// compressed. RFC 9460 2.2
    Target,
    /// The keys of the parameters do not increase, or the text has a parameter twice.
    /// RFC 9460 2.1, 2.2
    Order(ServiceParameter),
    /// A parameter's value does not have the form that its key requires. RFC 9460 2.2
    Value(ServiceParameter),
    /// The parameter `ech` is malformed.
    Ech(ConfigListError),
    /// A parameter is mandatory, but missing. RFC 9460 8
    MissingMandatory(ServiceParameter),
    /// `no-default-alpn` needs `alpn`. RFC 9460 7.1.1
    NoDefaultAlpn,
    /// The text has no priority, or one that is not a number below 65536.
    Priority,
    /// The text has no target.
    MissingTarget,
    /// The text has an unknown parameter. Those without a name are written as `key667`.
    UnknownParameter(String),
    /// The text has an unfinished quotation, parenthesis or escape. RFC 9460 A, RFC 1035 5.1
    Syntax,
    /// The text is of another type of record.
    OtherType(String),
    /// The data does not fit into a record.
    TooLong,
}

/// The key of a parameter. RFC 9460 14.3.2
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceParameter(pub u16);

impl ServiceParameter {
    /// The parameters that a client has to understand. RFC 9460 8
    pub const MANDATORY: Self = Self(0);
    /// Application protocols. RFC 9460 7.1
    pub const ALPN: Self = Self(1);
    /// The server has only the protocols of `alpn`, not the default one. RFC 9460 7.1
    pub const NO_DEFAULT_ALPN: Self = Self(2);
    /// The port. RFC 9460 7.2
    pub const PORT: Self = Self(3);
    /// IPv4 addresses. RFC 9460 7.3
    pub const IPV4HINT: Self = Self(4);
    /// Configurations for Encrypted ClientHello. RFC 9848 3
    pub const ECH: Self = Self(5);
    /// IPv6 addresses. RFC 9460 7.3
    pub const IPV6HINT: Self = Self(6);

    const NAMES: [&'static str; 7] =
        ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint"];

    fn name(self) -> Option<&'static str> {
        Self::NAMES.get(usize::from(self.0)).copied()
    }
}

/// The name of the parameter, or `key` and its number. RFC 9460 2.1
impl fmt::Display for ServiceParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "key{}", self.0),
        }
    }
}

impl fmt::Debug for ServiceParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ServiceBindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the record is truncated",
            Self::TrailingData => "the record has trailing data",
            Self::Target => "the target of the record is not a domain name",
            Self::Order(key) => {
                return write!(f, "the parameter {key} is repeated or out of order");
            }
            Self::Value(key) => return write!(f, "the parameter {key} has a malformed value"),
            Self::Ech(error) => return write!(f, "the parameter ech: {error}"),
            Self::MissingMandatory(key) => {
                return write!(f, "the parameter {key} is mandatory, but missing");
            }
            Self::NoDefaultAlpn => "the parameter no-default-alpn needs alpn",
            Self::Priority => "the record must begin with a priority, a number below 65536",
            Self::MissingTarget => "the target of the record is missing",
            Self::UnknownParameter(name) => {
                let name = name.escape_default();
                return write!(f, "the parameter `{name}` is unknown; write it as key and number");
            }
            Self::Syntax => "the record has an unfinished quotation, parenthesis or escape",
            Self::OtherType(name) => {
                return write!(f, "the record is of type {}, not HTTPS", name.escape_default());
            }
            Self::TooLong => "the record is longer than 65,535 bytes",
        })
    }
}

impl std::error::Error for ServiceBindingError {}

impl ServiceBinding {
    /// Creates a record with these application protocols and configurations, priority 1, and the
    /// owner of the record as its target. RFC 9848 3
    ///
    /// # Errors
    /// If a protocol's name does not have 1 to 255 bytes, or the record would be too long.
    pub fn service(alpn: &[&str], ech: &ConfigList) -> Result<Self, ServiceBindingError> {
        let mut parameters = Vec::new();
        if !alpn.is_empty() {
            let names = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
            parameters.push((ServiceParameter::ALPN.0, value::alpn(names)?));
        }
        if !ech.is_empty() {
            parameters.push((ServiceParameter::ECH.0, ech.as_bytes().to_vec()));
        }
        Self { priority: 1, target: Vec::new(), parameters }.checked()
    }

    /// Sets the target, a name in the form of zone files. It is needed if the owner of the record
    /// has a port in its name, such as `_8443._https.example.com`. RFC 9460 9.1
    ///
    /// # Errors
    /// If the text is not a domain name, or the record becomes too long.
    pub fn with_target(self, name: &str) -> Result<Self, ServiceBindingError> {
        Self { target: text::labels(name.as_bytes())?, ..self }.checked()
    }

    /// Returns the priority: the lowest one is tried first, and 0 makes the record an alias.
    #[must_use]
    pub fn priority(&self) -> u16 {
        self.priority
    }

    /// Whether the record only names another owner. RFC 9460 2.4.2
    #[must_use]
    pub fn is_alias(&self) -> bool {
        self.priority == 0
    }

    /// Returns the target in the form of zone files. `.` is the owner of the record; in an alias it
    /// means that the service does not exist. RFC 9460 2.5
    #[must_use]
    pub fn target(&self) -> String {
        text::domain_name(&self.target)
    }

    /// Returns the configurations for Encrypted ClientHello. `None` if there are none, and for an
    /// alias. RFC 9848 3
    #[must_use]
    pub fn ech(&self) -> Option<ConfigList> {
        ConfigList::parse(self.value(ServiceParameter::ECH)?).ok()
    }

    /// Returns the application protocols, without the default one.
    #[must_use]
    pub fn alpn(&self) -> Vec<Vec<u8>> {
        self.value(ServiceParameter::ALPN).and_then(value::names).unwrap_or_default()
    }

    /// Returns the port. `None` for the port that the service has by default. RFC 9460 7.2
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        let value = self.value(ServiceParameter::PORT)?;
        value.try_into().ok().map(u16::from_be_bytes)
    }

    /// Whether all mandatory parameters are known. A client ignores other records. RFC 9460 8
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        let mandatory = self.value(ServiceParameter::MANDATORY);
        let mut keys = mandatory.into_iter().flat_map(value::keys);
        keys.all(|key| key.name().is_some())
    }

    /// Returns the parameters and their bytes, in the order of their keys. An alias has none.
    pub fn parameters(&self) -> impl Iterator<Item = (ServiceParameter, &[u8])> {
        // Those of an alias are ignored. RFC 9460 2.4.2
        let all = self.parameters.iter().filter(|_| !self.is_alias());
        all.map(|(key, value)| (ServiceParameter(*key), &value[..]))
    }

    fn value(&self, key: ServiceParameter) -> Option<&[u8]> {
        self.parameters().find(|(found, _)| *found == key).map(|(_, value)| value)
    }

    /// Checks what applies to wire and text. RFC 9460 2.2, 7.1.1, 8
    fn checked(self) -> Result<Self, ServiceBindingError> {
        if self.to_rdata().len() > usize::from(u16::MAX) {
            return Err(ServiceBindingError::TooLong);
        }
        for (key, value) in self.parameters() {
            value::check(key, value)?;
        }
        let mandatory = self.value(ServiceParameter::MANDATORY).unwrap_or_default();
        match value::keys(mandatory).find(|key| self.value(*key).is_none()) {
            Some(missing) => return Err(ServiceBindingError::MissingMandatory(missing)),
            None if self.value(ServiceParameter::NO_DEFAULT_ALPN).is_none() => {}
            None if self.value(ServiceParameter::ALPN).is_some() => {}
            None => return Err(ServiceBindingError::NoDefaultAlpn),
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
