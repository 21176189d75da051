//! The server's side.

use std::io::{Read, Write};
use std::result;
use std::sync::Arc;

use tercel::pki_types::CertificateDer;
use tercel::{Handshake, ServerConfig};

use crate::error::{Kind, Result};
use crate::handshake::{HandshakeError, MidHandshakeTlsStream};
use crate::identity::Identity;
use crate::protocol::Protocol;
use crate::stream::TlsStream;
use crate::version_range::versions;

/// A builder of a [`TlsAcceptor`].
pub struct TlsAcceptorBuilder {
    identity: Identity,
    min_protocol: Option<Protocol>,
    max_protocol: Option<Protocol>,
    alpn: Vec<String>,
}

impl TlsAcceptorBuilder {
    /// Sets the lowest version to use. Default: TLS 1.2. `None` and older versions mean the same.
    pub fn min_protocol_version(&mut self, protocol: Option<Protocol>) -> &mut Self {
        self.min_protocol = protocol;
        self
    }

    /// Sets the highest version to use. Default: TLS 1.3. `None` means the same. With a version
    /// before TLS 1.2, [`Self::build`] fails.
    pub fn max_protocol_version(&mut self, protocol: Option<Protocol>) -> &mut Self {
        self.max_protocol = protocol;
        self
    }

    /// Sets the application protocols (ALPN), most preferred first. A client that offers none of
    /// them is accepted without a protocol. Default: none. RFC 7301
    pub fn accept_alpn(&mut self, protocols: &[impl AsRef<str>]) -> &mut Self {
        self.alpn = protocols.iter().map(|protocol| protocol.as_ref().to_owned()).collect();
        self
    }

    /// Builds the acceptor.
    ///
    /// # Errors
    /// If no version is left between minimum and maximum, an ALPN name is empty or too long, or,
    /// with the feature `fips`, the identity is not approved in the sense of FIPS 140-3.
    pub fn build(&self) -> Result<TlsAcceptor> {
        let config = ServerConfig::builder()
            .versions(versions(self.min_protocol, self.max_protocol)?)
            .credential(self.identity.credential()?)
            .alpn(&self.alpn)
            .ignore_unknown_alpn(true)
            // As with OpenSSL: many clients close the transport only.
            .tolerate_truncation(true)
            // Programs written for native-tls do not know the option.
            .fips(cfg!(feature = "fips"))
            .build();
        Ok(TlsAcceptor { config: config.map_err(Kind::Config)?, chain: self.identity.chain() })
    }
}

/// A server's configuration, shared by any number of connections.
#[derive(Clone)]
pub struct TlsAcceptor {
    config: Arc<ServerConfig>,
    chain: Arc<[CertificateDer<'static>]>,
}

impl TlsAcceptor {
    /// Creates an acceptor with default settings.
    ///
    /// # Errors
    /// Those of [`TlsAcceptorBuilder::build`].
    pub fn new(identity: Identity) -> Result<Self> {
        Self::builder(identity).build()
    }

    /// Creates a builder.
    #[must_use]
    pub fn builder(identity: Identity) -> TlsAcceptorBuilder {
        TlsAcceptorBuilder {
            identity,
            min_protocol: Some(Protocol::Tlsv12),
            max_protocol: None,
            alpn: Vec::new(),
        }
    }

    /// Runs a handshake with the client at the other end of `stream`.
    ///
    /// # Errors
    /// [`HandshakeError::WouldBlock`] if `stream` would block; the handshake can be continued.
    /// [`HandshakeError::Failure`] for all other errors.
    pub fn accept<S: Read + Write>(
        &self,
        stream: S,
    ) -> result::Result<TlsStream<S>, HandshakeError<S>> {
        let handshake = Handshake::server(Arc::clone(&self.config));
        MidHandshakeTlsStream::new(handshake, stream, Some(Arc::clone(&self.chain))).handshake()
    }
}
