//! What HTTP handlers and clients can learn about a connection.

use std::sync::Arc;

use tercel_tokio::tercel::pki::spiffe_id;
use tercel_tokio::tercel::pki_types::CertificateDer;
use tercel_tokio::tercel::wire::{CipherSuite, ProtocolVersion};
use tercel_tokio::tercel::{ConnectionInfo, EarlyData, Ech};

/// The negotiated parameters of a TLS connection, cheap to clone.
///
/// A client finds it in the extensions of a response, and a server of axum or tonic in its
/// [`ConnectInfo`].
///
/// In a response to a client of [`HttpsConnector`](crate::HttpsConnector), it describes the
/// connection to the origin. If the connector only connects to a proxy, as the transport of
/// hyper-util's `Tunnel`, and no other `HttpsConnector` is above that, it describes the connection
/// to the proxy.
///
/// ```
/// use std::net::SocketAddr;
/// use tercel_hyper::ConnectInfo;
///
/// /// A handler of axum, for clients with a certificate.
/// # #[cfg(feature = "axum")]
/// async fn greet(client: axum::extract::ConnectInfo<ConnectInfo<SocketAddr>>) -> String {
///     format!("hello {}", client.tls.spiffe_id().unwrap_or_default())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct TlsInfo(Arc<Parameters>);

#[derive(Debug)]
struct Parameters {
    version: ProtocolVersion,
    cipher_suite: CipherSuite,
    alpn: Option<Vec<u8>>,
    server_name: Option<String>,
    resumed: bool,
    early_data: EarlyData,
    ech: Ech,
    peer_chain: Vec<CertificateDer<'static>>,
}

impl TlsInfo {
    pub(crate) fn new(info: &ConnectionInfo) -> Self {
        Self(Arc::new(Parameters {
            version: info.version,
            cipher_suite: info.cipher_suite,
            alpn: info.alpn.clone(),
            server_name: info.server_name.clone(),
            resumed: info.resumed,
            early_data: info.early_data,
            ech: info.ech,
            peer_chain: info.peer_chain().to_vec(),
        }))
    }

    /// The protocol version.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.0.version
    }

    /// The cipher suite.
    #[must_use]
    pub fn cipher_suite(&self) -> CipherSuite {
        self.0.cipher_suite
    }

    /// The application protocol, such as `h2`. RFC 7301
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        self.0.alpn.as_deref()
    }

    /// Server: the server name that the client requested. RFC 6066 3
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.0.server_name.as_deref()
    }

    /// Whether a session was resumed.
    #[must_use]
    pub fn resumed(&self) -> bool {
        self.0.resumed
    }

    /// Whether early data was offered, and whether it was accepted.
    #[must_use]
    pub fn early_data(&self) -> EarlyData {
        self.0.early_data
    }

    /// Whether Encrypted ClientHello was offered, and whether it was accepted. RFC 9849
    #[must_use]
    pub fn ech(&self) -> Ech {
        self.0.ech
    }

    /// The peer's certificate chain, leaf first; empty if the peer sent none.
    #[must_use]
    pub fn peer_chain(&self) -> &[CertificateDer<'static>] {
        &self.0.peer_chain
    }

    /// The SPIFFE ID in the peer's certificate. `None` if the peer sent no certificate, or one
    /// without a well-formed SPIFFE ID. See [`spiffe_id`](tercel_tokio::tercel::pki::spiffe_id).
    #[must_use]
    pub fn spiffe_id(&self) -> Option<String> {
        spiffe_id(self.peer_chain().first()?).ok()?
    }
}

/// The client of a server's connection: its address, and the parameters of its TLS connection.
///
/// With axum, serve `app.into_make_service_with_connect_info::<ConnectInfo<SocketAddr>>()` and
/// extract `axum::extract::ConnectInfo<tercel_hyper::ConnectInfo<SocketAddr>>`. With tonic, it is
/// an extension of each request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectInfo<A> {
    /// The address of the client.
    pub peer: A,
    /// The parameters of the connection.
    pub tls: TlsInfo,
}

impl<A> ConnectInfo<A> {
    #[cfg(any(feature = "axum", feature = "tonic"))]
    pub(crate) fn new(peer: A, info: &ConnectionInfo) -> Self {
        Self { peer, tls: TlsInfo::new(info) }
    }
}
