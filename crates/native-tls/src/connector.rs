//! The client's side.

use std::fmt;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::result;
use std::sync::Arc;

use tercel::certificates::{AcceptAnyPeer, PeerIdentity, VerifyPeer};
use tercel::pki::{ChainVerifier, Refusal, RefusalReason, Usage};
use tercel::{ClientConfig, Handshake, Policy, ServerName};

use crate::certificate::Certificate;
use crate::error::{Error, Kind, Result};
use crate::handshake::{HandshakeError, MidHandshakeTlsStream};
use crate::identity::Identity;
use crate::protocol::Protocol;
use crate::stream::TlsStream;
use crate::system_roots::system_roots;
use crate::version_range::versions;

/// A builder of a [`TlsConnector`].
#[allow(clippy::struct_excessive_bools, reason = "one for each switch of the interface")]
pub struct TlsConnectorBuilder {
    identity: Option<Identity>,
    min_protocol: Option<Protocol>,
    max_protocol: Option<Protocol>,
    roots: Vec<Certificate>,
    built_in_roots: bool,
    accept_invalid_certs: bool,
    accept_invalid_hostnames: bool,
    use_sni: bool,
    alpn: Vec<String>,
}

impl TlsConnectorBuilder {
    /// Sets the identity for servers that request client authentication.
    pub fn identity(&mut self, identity: Identity) -> &mut Self {
        self.identity = Some(identity);
        self
    }

    /// Sets the lowest version to use. Default: TLS 1.2, as for `None` and for older versions.
    pub fn min_protocol_version(&mut self, protocol: Option<Protocol>) -> &mut Self {
        self.min_protocol = protocol;
        self
    }

    /// Sets the highest version to use. Default: TLS 1.3, as for `None`. With a version before TLS
    /// 1.2, [`Self::build`] fails.
    pub fn max_protocol_version(&mut self, protocol: Option<Protocol>) -> &mut Self {
        self.max_protocol = protocol;
        self
    }

    /// Adds a trusted certificate to those of the operating system: an authority's, or a server's,
    /// which is trusted only as itself.
    pub fn add_root_certificate(&mut self, certificate: Certificate) -> &mut Self {
        self.roots.push(certificate);
        self
    }

    /// Sets whether only the certificates of [`Self::add_root_certificate`] are trusted, and not
    /// the authorities of the operating system. Default: off.
    ///
    /// The authorities are read when a connector is built, and used again by connectors that are
    /// built within the next minute.
    pub fn disable_built_in_roots(&mut self, disable: bool) -> &mut Self {
        self.built_in_roots = !disable;
        self
    }

    /// Sets the application protocols to offer (ALPN), most preferred first. Default: none.
    /// RFC 7301
    pub fn request_alpns(&mut self, protocols: &[&str]) -> &mut Self {
        self.alpn = protocols.iter().map(|&protocol| protocol.to_owned()).collect();
        self
    }

    /// Sets whether servers are accepted WITHOUT VERIFICATION of their certificate and of their
    /// name. Default: off.
    ///
    /// # Warning
    ///
    /// With this option **any** certificate is accepted for **any** server: expired, self-signed,
    /// of another domain, or made by an attacker on the network, who can then read and change
    /// everything that is sent. To reach a server with a private certificate, add this certificate
    /// or its authority with [`Self::add_root_certificate`] instead.
    pub fn danger_accept_invalid_certs(&mut self, accept_invalid_certs: bool) -> &mut Self {
        self.accept_invalid_certs = accept_invalid_certs;
        self
    }

    /// Sets whether the server's name is sent (SNI). Default: on. IP addresses are never sent.
    /// RFC 6066 3
    pub fn use_sni(&mut self, use_sni: bool) -> &mut Self {
        self.use_sni = use_sni;
        self
    }

    /// Sets whether certificates are accepted for servers with ANOTHER NAME. Default: off.
    ///
    /// # Warning
    ///
    /// With this option the certificate of **any** server that a trusted authority has certified is
    /// accepted for **any other** server. Every owner of a domain can obtain such a certificate,
    /// and can then read and change everything that is sent. If a server is reached by an address
    /// other than its name, pass the certificate's name to [`TlsConnector::connect`] instead.
    pub fn danger_accept_invalid_hostnames(&mut self, accept_invalid_hostnames: bool) -> &mut Self {
        self.accept_invalid_hostnames = accept_invalid_hostnames;
        self
    }

    /// Builds the connector.
    ///
    /// # Errors
    /// If no version is left between minimum and maximum, an ALPN name is empty or too long, an
    /// added certificate cannot be used as a root, or, with the feature `fips`, an option is not
    /// approved in the sense of FIPS 140-3.
    pub fn build(&self) -> Result<TlsConnector> {
        let mut config = ClientConfig::builder()
            .versions(versions(self.min_protocol, self.max_protocol)?)
            .verifier(Policy::Here(self.verifier()?))
            .alpn(&self.alpn)
            .send_server_name(self.use_sni)
            // As with OpenSSL: many servers close the transport only.
            .tolerate_truncation(true)
            // The response would be ignored.
            .request_ocsp(false)
            // As with OpenSSL. Users of `tls_server_end_point` need the current certificate.
            .without_resumption()
            // Programs written for native-tls do not know the option.
            .fips(cfg!(feature = "fips"));
        if let Some(identity) = &self.identity {
            config = config.credential(identity.credential()?);
        }
        Ok(TlsConnector {
            config: config.build().map_err(Kind::Config)?,
            use_sni: self.use_sni,
            accept_invalid_certs: self.accept_invalid_certs,
            accept_invalid_hostnames: self.accept_invalid_hostnames,
        })
    }

    fn verifier(&self) -> Result<Arc<dyn VerifyPeer>> {
        if self.accept_invalid_certs {
            return Ok(Arc::new(AcceptAnyPeer));
        }
        // Without authorities of the system, those that are added may suffice.
        let built_in = if self.built_in_roots { system_roots() } else { None };
        let mut roots = built_in.unwrap_or_default();
        for Certificate(certificate) in &self.roots {
            Arc::make_mut(&mut roots).add_der(certificate).map_err(Kind::Root)?;
        }
        Ok(Arc::new(Verifier {
            chains: ChainVerifier::builder(roots).build().ok(),
            verify_name: !self.accept_invalid_hostnames,
        }))
    }
}

/// A client's configuration, shared by any number of connections.
///
/// ```
/// # fn main() -> Result<(), tercel_native_tls::Error> {
/// use tercel_native_tls::{Certificate, Protocol, TlsConnector};
///
/// fn connector(authority: &[u8]) -> tercel_native_tls::Result<TlsConnector> {
///     TlsConnector::builder()
///         .add_root_certificate(Certificate::from_pem(authority)?)
///         .disable_built_in_roots(true)
///         .min_protocol_version(Some(Protocol::Tlsv13))
///         .request_alpns(&["h2", "http/1.1"])
///         .build()
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    use_sni: bool,
    accept_invalid_certs: bool,
    accept_invalid_hostnames: bool,
}

impl TlsConnector {
    /// Creates a connector with default settings, which trusts the authorities of the operating
    /// system.
    ///
    /// # Errors
    /// Those of [`TlsConnectorBuilder::build`].
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Creates a builder.
    #[must_use]
    pub fn builder() -> TlsConnectorBuilder {
        TlsConnectorBuilder {
            identity: None,
            min_protocol: Some(Protocol::Tlsv12),
            max_protocol: None,
            roots: Vec::new(),
            built_in_roots: true,
            accept_invalid_certs: false,
            accept_invalid_hostnames: false,
            use_sni: true,
            alpn: Vec::new(),
        }
    }

    /// Runs a handshake over `stream` with the server `domain`, a DNS name or an IP address for
    /// which the server's certificate has to be valid.
    ///
    /// # Errors
    /// [`HandshakeError::WouldBlock`] if `stream` would block; the handshake can be continued.
    /// [`HandshakeError::Failure`] for all other errors.
    pub fn connect<S: Read + Write>(
        &self,
        domain: &str,
        stream: S,
    ) -> result::Result<TlsStream<S>, HandshakeError<S>> {
        let name = self.server_name(domain).map_err(HandshakeError::Failure)?;
        let handshake = Handshake::client(Arc::clone(&self.config), name);
        MidHandshakeTlsStream::new(handshake, stream, None).handshake()
    }

    fn server_name(&self, domain: &str) -> Result<ServerName<'static>> {
        let name_is_verified = !(self.accept_invalid_certs || self.accept_invalid_hostnames);
        match ServerName::try_from(domain) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) if name_is_verified => Err(Error::from(Kind::Domain(domain.to_owned()))),
            // A name that is not verified may be anything. An IP address is not sent.
            Err(_) => Ok(ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into())),
        }
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnector")
            .field("use_sni", &self.use_sni)
            .field("accept_invalid_certs", &self.accept_invalid_certs)
            .field("accept_invalid_hostnames", &self.accept_invalid_hostnames)
            .finish_non_exhaustive()
    }
}

/// Verifies chains, and the name unless that is switched off.
struct Verifier {
    /// `None` if nothing is trusted.
    chains: Option<ChainVerifier>,
    verify_name: bool,
}

impl VerifyPeer for Verifier {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> result::Result<(), Box<Refusal>> {
        let Some(chains) = &self.chains else {
            let refusal = identity.refusal(RefusalReason::UnknownIssuer);
            return Err(Box::new(refusal.with_explanation("no root certificate is trusted")));
        };
        let name = identity.server_name.filter(|_| self.verify_name);
        chains.verify(Usage::Server, identity.chain, name, None, identity.now).map(|_| ())
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}
