//! Configurations, and pairs of connected streams.

use std::sync::{Arc, LazyLock};

use rcgen::{CertificateParams, Issuer, KeyPair};
use tercel::pki::Roots;
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Credential, ServerConfig, ServerName, client::ClientConfigBuilder,
    server::ServerConfigBuilder,
};
use tercel_tokio::{Acceptor, Connector, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const VERSIONS: [ProtocolVersion; 2] =
    [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

pub(crate) fn name() -> ServerName<'static> {
    "server.example".try_into().unwrap()
}

pub(crate) fn client() -> ClientConfigBuilder {
    let mut roots = Roots::new();
    roots.add_der(&IDENTITY.root).unwrap();
    ClientConfig::builder().roots(roots)
}

pub(crate) fn server() -> ServerConfigBuilder {
    ServerConfig::builder().credential(credential())
}

pub(crate) fn credential() -> Credential {
    let key = PrivateKeyDer::Pkcs8(IDENTITY.key.clone().into());
    Credential::new(vec![IDENTITY.leaf.clone()], &key).unwrap()
}

/// The private key of [`credential`], in PKCS#8.
pub(crate) fn private_key() -> Vec<u8> {
    IDENTITY.key.clone()
}

/// Connects two streams over a pair of transports.
pub(crate) async fn join<T: AsyncRead + AsyncWrite + Unpin>(
    (near, far): (T, T),
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
) -> (TlsStream<T>, TlsStream<T>) {
    let (connector, acceptor) = (Connector::new(client), Acceptor::new(server));
    let (client, server) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
    (client.unwrap(), server.unwrap())
}

/// Two connected streams of this version, over a transport with this capacity.
pub(crate) async fn pair(
    version: ProtocolVersion,
    room: usize,
) -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
    let client = client().versions(&[version]).build().unwrap();
    join(duplex(room), client, server().build().unwrap()).await
}

/// Two streams as from [`pair`], over loopback.
pub(crate) async fn loopback_pair(
    version: ProtocolVersion,
) -> (TlsStream<TcpStream>, TlsStream<TcpStream>) {
    let client = client().versions(&[version]).build().unwrap();
    join(loopback().await, client, server().build().unwrap()).await
}

pub(crate) async fn loopback() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap());
    let (near, far) = tokio::join!(near, listener.accept());
    (near.unwrap(), far.unwrap().0)
}

/// Bytes that depend on their position.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect()
}

struct Identity {
    root: CertificateDer<'static>,
    leaf: CertificateDer<'static>,
    key: Vec<u8>,
}

static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = KeyPair::generate().unwrap();
    let root = params.self_signed(&authority).unwrap();
    let issuer = Issuer::new(params, authority);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["server.example".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    Identity { root: root.der().clone(), leaf: leaf.der().clone(), key: key.serialize_der() }
});
