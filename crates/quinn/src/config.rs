//! Configurations of [`tercel`] as those of quinn.

use core::fmt;
use std::sync::Arc;

use quinn_proto::crypto::{self, Keys, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side};
use tercel::error::ConfigError;
use tercel::quic::{Ended, Handshake, Version};
use tercel::{ClientConfig, ServerConfig, ServerName};

use crate::keys::initial_keys;
use crate::session::Session;

/// The configuration of a client, for `quinn::ClientConfig::new`.
///
/// ```
/// use tercel_quinn::{QuicClientConfig, tercel::ClientConfig};
///
/// # fn run(roots: tercel::pki::Roots) -> Result<(), Box<dyn std::error::Error>> {
/// let tls = ClientConfig::builder().roots(roots).alpn(&["h3"]).build()?;
/// let crypto = QuicClientConfig::try_from(tls)?;
/// let config = quinn::ClientConfig::new(std::sync::Arc::new(crypto));
/// # let _ = config; Ok(()) }
/// ```
#[derive(Clone)]
pub struct QuicClientConfig {
    tls: Arc<ClientConfig>,
    port: Option<u16>,
    #[cfg(feature = "ech")]
    ech: Option<tercel::ech::Offer>,
}

/// The configuration of a server, for `quinn::ServerConfig::new`.
///
/// ```
/// use tercel_quinn::{QuicServerConfig, server_config, tercel::{Credential, ServerConfig}};
///
/// # fn run(credential: Credential) -> Result<(), Box<dyn std::error::Error>> {
/// let tls = ServerConfig::builder().credential(credential).alpn(&["h3"]).build()?;
/// let config = server_config(QuicServerConfig::try_from(tls)?)?;
/// # let _ = config; Ok(()) }
/// ```
#[derive(Clone)]
pub struct QuicServerConfig(Arc<ServerConfig>);

/// The reason why a configuration cannot be used with quinn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuicConfigError {
    /// The configuration cannot be used over QUIC.
    Config(ConfigError),
    /// With this option a handshake would ask the application and wait for its answer, for which
    /// quinn has no interface.
    Asks(&'static str),
}

impl fmt::Display for QuicConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Asks(option) => {
                write!(f, "{option}: quinn cannot wait for an answer; use Policy::Here")
            }
        }
    }
}

impl std::error::Error for QuicConfigError {}

impl TryFrom<Arc<ClientConfig>> for QuicClientConfig {
    type Error = QuicConfigError;

    fn try_from(config: Arc<ClientConfig>) -> Result<Self, Self::Error> {
        if let Some(option) = config.option_that_asks() {
            return Err(QuicConfigError::Asks(option));
        }
        let any = ServerName::IpAddress(core::net::Ipv4Addr::LOCALHOST.into());
        Handshake::client(&config, any, Version::V1, Vec::new())
            .map_err(QuicConfigError::Config)?;
        Ok(Self {
            tls: config,
            port: None,
            #[cfg(feature = "ech")]
            ech: None,
        })
    }
}

impl QuicClientConfig {
    /// Sets the port of the servers: the sessions of each port are stored separately. Default: a
    /// session is offered to servers of its name at any port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Sets what is offered of Encrypted ClientHello. Each server has configurations of its own, so
    /// make a configuration for each, and pass it to `Endpoint::connect_with`; it shares the rest
    /// with its clones. Default: random contents if
    /// [`ech_grease`](tercel::client::ClientConfigBuilder::ech_grease) is set, else nothing.
    ///
    /// A connection may send the server's name unencrypted: if no configuration of
    /// [`Offer::Configs`](tercel::ech::Offer::Configs) is usable, or TLS 1.3 is not enabled, the
    /// default is used instead, without an error. If the name must be encrypted, check
    /// [`ConfigList::usable`](tercel::ech::ConfigList::usable) first.
    ///
    /// If the server rejects the offer, the connection fails, and
    /// [`TlsFailure::ech_retry_configs`](crate::TlsFailure::ech_retry_configs) has the
    /// configurations for one further attempt. RFC 9849 6.1.6
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    #[must_use]
    pub fn ech(mut self, offer: tercel::ech::Offer) -> Self {
        self.ech = Some(offer);
        self
    }
}

impl TryFrom<Arc<ServerConfig>> for QuicServerConfig {
    type Error = QuicConfigError;

    fn try_from(config: Arc<ServerConfig>) -> Result<Self, Self::Error> {
        if let Some(option) = config.option_that_asks() {
            return Err(QuicConfigError::Asks(option));
        }
        Handshake::server(&config, Version::V1, Vec::new()).map_err(QuicConfigError::Config)?;
        Ok(Self(config))
    }
}

impl fmt::Debug for QuicClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QuicClientConfig(..)")
    }
}

impl fmt::Debug for QuicServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QuicServerConfig(..)")
    }
}

impl crypto::ClientConfig for QuicClientConfig {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let version = supported(version)?;
        let invalid = || ConnectError::InvalidServerName(server_name.to_owned());
        let name = ServerName::try_from(server_name).map_err(|_| invalid())?.to_owned();
        let parameters = encoded(params);
        let handshake = match self.port {
            Some(port) => Handshake::client_with_port(&self.tls, name, port, version, parameters),
            None => Handshake::client(&self.tls, name, version, parameters),
        };
        // The configuration was checked when it was made.
        let handshake = handshake.map_err(|_| ConnectError::UnsupportedVersion)?;
        #[cfg(feature = "ech")]
        let handshake = match &self.ech {
            Some(offer) => handshake.with_ech(offer.clone()),
            None => handshake,
        };
        // Quinn has no error for a failed handshake here, and this variant carries a text.
        let failed =
            |ended: Ended| ConnectError::InvalidServerName(format!("{server_name}: {ended}"));
        Ok(Box::new(Session::new(handshake, version).map_err(failed)?))
    }
}

impl crypto::ServerConfig for QuicServerConfig {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(initial_keys(supported(version)?, dst_cid, Side::Server))
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        // Quinn does not call this for a version that `initial_keys` refused.
        let version = supported(version).unwrap_or(Version::V1);
        tercel::quic::retry_tag(version, orig_dst_cid, packet).expect(crate::keys::NO_MEMORY)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        // Quinn does not call this for a version that `initial_keys` refused.
        let version = supported(version).unwrap_or(Version::V1);
        let handshake = Handshake::server(&self.0, version, encoded(params));
        let handshake = handshake.expect("the configuration was checked");
        Box::new(Session::new(handshake, version).expect("a server begins with the client's data"))
    }
}

/// Returns the version for this number. Quinn forms packets of version 1 only, and the drafts 33
/// and 34 protect packets like version 1.
fn supported(version: u32) -> Result<Version, UnsupportedVersion> {
    match version {
        1 | 0xff00_0021 | 0xff00_0022 => Ok(Version::V1),
        _ => Err(UnsupportedVersion),
    }
}

fn encoded(parameters: &TransportParameters) -> Vec<u8> {
    let mut bytes = Vec::new();
    parameters.write(&mut bytes);
    bytes
}
