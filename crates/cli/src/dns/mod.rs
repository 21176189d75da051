//! HTTPS records of a server: which one a client takes, and where they are looked up.
//! RFC 9460, RFC 9848
//!
//! hickory-resolver asks over UDP and TCP. It has TLS of its own for DNS over HTTPS, which would be
//! a second TLS library in this program, so `over_https` carries its messages over Tercel.

mod choice;
mod over_https;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{RData, Record, RecordType};
use hickory_resolver::proto::serialize::binary::BinEncodable;
use tercel::ClientConfig;
use tercel::ech::ServiceBinding;

use crate::target::{Address, Target};
pub(crate) use choice::{Choice, owner_of};

/// The server that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DnsServer {
    /// Over UDP, and over TCP for long answers.
    Plain(SocketAddr),
    /// The URL of a server for DNS over HTTPS. RFC 8484
    Https(Address),
}

impl FromStr for DnsServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Address::parse_https(text).map(Self::Https);
        }
        let address = text.parse().or_else(|_| text.parse::<IpAddr>().map(|ip| (ip, 53).into()));
        address
            .map(Self::Plain)
            .map_err(|_| "must be an IP address with or without a port, or an https URL".to_owned())
    }
}

impl fmt::Display for DnsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(address) => write!(f, "{address}"),
            Self::Https(url) => write!(f, "{url}"),
        }
    }
}

/// A record and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedRecord {
    /// With a dot at its end.
    pub(crate) owner: String,
    pub(crate) record: ServiceBinding,
}

/// How a name is looked up.
pub(crate) struct Lookup {
    /// `None` for the server of the system.
    pub(crate) server: Option<DnsServer>,
    /// For DNS over HTTPS.
    pub(crate) config: Arc<ClientConfig>,
    /// For each of the queries.
    pub(crate) timeout: Duration,
}

impl Lookup {
    /// Looks up the records of this server and chooses one. Aliases are followed.
    pub(crate) fn choose(&self, target: &Target) -> Result<Choice> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot create a runtime")?;
        runtime.block_on(async {
            let mut owner = owner_of(target);
            for _ in 0..MAX_ALIASES {
                let records = self.records(&owner).await?;
                match choice::choose(target, &records) {
                    Choice::Alias(next) => owner = next,
                    other => return Ok(other),
                }
            }
            Err(anyhow!("the HTTPS records of {} are aliases of each other", target.host))
        })
    }

    /// The records of this owner, as far as they are well-formed. RFC 9460 2.2
    async fn records(&self, owner: &str) -> Result<Vec<OwnedRecord>> {
        let asked = async {
            match &self.server {
                Some(DnsServer::Https(url)) => over_https::records(url, &self.config, owner).await,
                Some(DnsServer::Plain(address)) => self.plain(Some(*address), owner).await,
                None => self.plain(None, owner).await,
            }
        };
        let server = self.server.as_ref().map(|server| format!(" at {server}"));
        let server = server.unwrap_or_default();
        let context = || format!("cannot look up the HTTPS record of {owner}{server}");
        let found = tokio::time::timeout(self.timeout, asked).await;
        let found = found.unwrap_or_else(|_| Err(anyhow!("timed out"))).with_context(context)?;
        let parsed = found.iter().filter_map(|record| {
            let RData::HTTPS(https) = &record.data else { return None };
            let record_owner = record.name.to_ascii();
            let parsed = ServiceBinding::from_rdata(&https.to_bytes().ok()?).ok()?;
            Some(OwnedRecord { owner: record_owner, record: parsed })
        });
        Ok(parsed.collect())
    }

    async fn plain(&self, address: Option<SocketAddr>, owner: &str) -> Result<Vec<Record>> {
        let mut builder = match address {
            None => TokioResolver::builder_tokio()?,
            Some(address) => {
                let mut server = NameServerConfig::udp_and_tcp(address.ip());
                for connection in &mut server.connections {
                    connection.port = address.port();
                }
                let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
                TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            }
        };
        let options = builder.options_mut();
        options.use_hosts_file = ResolveHosts::Never;
        options.timeout = self.timeout / 2;
        options.attempts = 2;
        match builder.build()?.lookup(owner, RecordType::HTTPS).await {
            Ok(lookup) => Ok(lookup.answers().to_vec()),
            Err(error) if error.is_no_records_found() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The maximum number of aliases, one after the other. RFC 9460 2.4.2
const MAX_ALIASES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_addresses_or_urls() {
        let server = |text: &str| text.parse::<DnsServer>();
        assert_eq!(server("192.0.2.1"), Ok(DnsServer::Plain("192.0.2.1:53".parse().unwrap())));
        assert_eq!(server("[::1]:5353").unwrap().to_string(), "[::1]:5353");
        assert_eq!(server("::1").unwrap().to_string(), "[::1]:53");
        let https = server("https://dns.example/dns-query").unwrap();
        assert_eq!(https.to_string(), "https://dns.example/dns-query");
        for wrong in ["dns.example", "", "ldaps://dns.example/", "192.0.2.1:99999"] {
            assert!(server(wrong).is_err(), "{wrong}");
        }
    }
}
