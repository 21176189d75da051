//! Clients and servers of quinn, on tercel and on rustls.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use quinn::{Connecting, Connection, ConnectionError, Endpoint};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tercel_quinn::tercel::pki::Roots;
use tercel_quinn::tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel_quinn::tercel::wire::CipherSuite;
use tercel_quinn::tercel::{self, ClientConfig, Credential, Policy, ServerConfig};
use tercel_quinn::{HandshakeData, QuicClientConfig, QuicServerConfig};
use tokio::sync::mpsc;

/// The implementation of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    Tercel,
    Rustls,
}

struct Authority {
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(authority);

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap();
    Authority { root: root.der().clone(), issuer: Issuer::new(params, key) }
}

pub(crate) fn names() -> Vec<String> {
    vec!["localhost".to_owned()]
}

/// A chain and its private key.
fn leaf(
    names: &[String],
    authority: &Authority,
) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(names.to_vec()).unwrap();
    let leaf = params.signed_by(&key, &authority.issuer).unwrap();
    (vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
}

pub(crate) fn credential(names: &[String]) -> Credential {
    let (chain, key) = leaf(names, &AUTHORITY);
    Credential::new(chain, &key).unwrap()
}

pub(crate) fn roots() -> Roots {
    let mut roots = Roots::new();
    roots.add_der(&AUTHORITY.root).unwrap();
    roots
}

fn rustls_roots() -> rustls::RootCertStore {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(AUTHORITY.root.clone()).unwrap();
    roots
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// The options of a client.
#[derive(Default)]
pub(crate) struct ClientOptions {
    early_data: bool,
    with_certificate: bool,
    suite: Option<CipherSuite>,
}

/// A client before its start.
pub(crate) struct Client {
    stack: Stack,
    options: ClientOptions,
}

impl Client {
    pub(crate) fn new(stack: Stack) -> Self {
        Self { stack, options: ClientOptions::default() }
    }

    pub(crate) fn early_data(mut self) -> Self {
        self.options.early_data = true;
        self
    }

    pub(crate) fn with_certificate(mut self) -> Self {
        self.options.with_certificate = true;
        self
    }

    pub(crate) fn suite(mut self, suite: CipherSuite) -> Self {
        self.options.suite = Some(suite);
        self
    }

    pub(crate) fn start(self) -> StartedClient {
        let crypto: Arc<dyn quinn::crypto::ClientConfig> = match self.stack {
            Stack::Tercel => {
                Arc::new(QuicClientConfig::try_from(tercel_client(&self.options)).unwrap())
            }
            Stack::Rustls => Arc::new(
                quinn::crypto::rustls::QuicClientConfig::try_from(rustls_client(&self.options))
                    .unwrap(),
            ),
        };
        let mut endpoint = tercel_quinn::client_endpoint("127.0.0.1:0".parse().unwrap()).unwrap();
        endpoint.set_default_client_config(quinn::ClientConfig::new(crypto));
        StartedClient { endpoint }
    }
}

pub(crate) fn tercel_client(options: &ClientOptions) -> Arc<ClientConfig> {
    let mut builder = ClientConfig::builder().roots(roots()).alpn(&["echo"]);
    if options.early_data {
        builder = builder.early_data(true).quic_early_data_context(b"echo");
    }
    if options.with_certificate {
        builder = builder.credential(credential(&["client".to_owned()]));
    }
    if let Some(suite) = options.suite {
        builder = builder.cipher_suites(&[suite]);
    }
    builder.build().unwrap()
}

fn rustls_client(options: &ClientOptions) -> rustls::ClientConfig {
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(rustls_roots());
    let mut config = if options.with_certificate {
        let (chain, key) = leaf(&["client".to_owned()], &AUTHORITY);
        builder.with_client_auth_cert(chain, key).unwrap()
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols = vec![b"echo".to_vec()];
    config.enable_early_data = options.early_data;
    config
}

pub(crate) struct StartedClient {
    pub(crate) endpoint: Endpoint,
}

impl StartedClient {
    pub(crate) fn connecting(&self, server: &StartedServer) -> Connecting {
        self.endpoint.connect(server.address, "localhost").unwrap()
    }

    pub(crate) async fn connect(
        &self,
        server: &StartedServer,
    ) -> Result<Connection, ConnectionError> {
        self.connecting(server).await
    }
}

/// A server before its start.
pub(crate) struct Server {
    stack: Stack,
    protocol: &'static str,
    early_data: bool,
    untrusted: bool,
    demands_certificates: bool,
    updates_keys: bool,
    retries: bool,
}

impl Server {
    pub(crate) fn new(stack: Stack) -> Self {
        Self {
            stack,
            protocol: "echo",
            early_data: false,
            untrusted: false,
            demands_certificates: false,
            updates_keys: false,
            retries: false,
        }
    }

    pub(crate) fn protocol(mut self, protocol: &'static str) -> Self {
        self.protocol = protocol;
        self
    }

    pub(crate) fn early_data(mut self) -> Self {
        self.early_data = true;
        self
    }

    pub(crate) fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    pub(crate) fn demanding_certificates(mut self) -> Self {
        self.demands_certificates = true;
        self
    }

    pub(crate) fn updating_keys(mut self) -> Self {
        self.updates_keys = true;
        self
    }

    pub(crate) fn retrying(mut self) -> Self {
        self.retries = true;
        self
    }

    pub(crate) fn start(self) -> StartedServer {
        let crypto: Arc<dyn quinn::crypto::ServerConfig> = match self.stack {
            Stack::Tercel => Arc::new(QuicServerConfig::try_from(self.tercel()).unwrap()),
            Stack::Rustls => {
                Arc::new(quinn::crypto::rustls::QuicServerConfig::try_from(self.rustls()).unwrap())
            }
        };
        let key = tercel_quinn::TokenKey(tercel::quic::TokenKey::random().unwrap());
        let config = quinn::ServerConfig::new(crypto, Arc::new(key));
        let endpoint =
            tercel_quinn::server_endpoint(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = endpoint.local_addr().unwrap();
        let (sender, connections) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                if self.retries && !incoming.remote_address_validated() {
                    incoming.retry().unwrap();
                    continue;
                }
                tokio::spawn(serve(incoming, self.updates_keys, sender.clone()));
            }
        });
        StartedServer { address, connections: tokio::sync::Mutex::new(connections) }
    }

    fn chain(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        if self.untrusted { leaf(&names(), &authority()) } else { leaf(&names(), &AUTHORITY) }
    }

    fn tercel(&self) -> Arc<ServerConfig> {
        let (chain, key) = self.chain();
        let credential = Credential::new(chain, &key).unwrap();
        let mut builder = ServerConfig::builder().credential(credential).alpn(&[self.protocol]);
        if self.early_data {
            let guard = Policy::Here(Arc::new(Admits) as _);
            builder = builder.early_data(1, guard).quic_early_data_context(b"echo");
        }
        if self.demands_certificates {
            builder = builder.client_auth(tercel::server::ClientAuth::Required, roots());
        }
        builder.build().unwrap()
    }

    fn rustls(&self) -> rustls::ServerConfig {
        let (chain, key) = self.chain();
        let builder = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap();
        let builder = if self.demands_certificates {
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(rustls_roots()),
                provider(),
            );
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![self.protocol.as_bytes().to_vec()];
        config.max_early_data_size = if self.early_data { u32::MAX } else { 0 };
        config
    }
}

/// A replay guard that admits everything at once. The guard of `tercel` admits nothing for a while
/// after its start.
struct Admits;

impl tercel::session::AdmitEarlyData for Admits {
    fn admit_early_data(&self, _: &[u8], _: tercel::pki_types::UnixTime) -> bool {
        true
    }

    fn freshness_window(&self) -> std::time::Duration {
        std::time::Duration::from_secs(60)
    }
}

/// What a server saw of one connection.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) error: Option<ConnectionError>,
    pub(crate) protocol: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) exported: [u8; 32],
    pub(crate) certificates: usize,
    pub(crate) resumed: bool,
}

pub(crate) struct StartedServer {
    pub(crate) address: SocketAddr,
    connections: tokio::sync::Mutex<mpsc::UnboundedReceiver<Seen>>,
}

impl StartedServer {
    /// What the server saw of its next connection.
    pub(crate) async fn seen(&self) -> Seen {
        self.connections.lock().await.recv().await.unwrap()
    }
}

/// Echoes all streams of a connection, in early data too.
async fn serve(incoming: quinn::Incoming, updates_keys: bool, seen: mpsc::UnboundedSender<Seen>) {
    let connecting = incoming.accept().unwrap();
    // The conversion to 0-RTT always succeeds on a server.
    let Ok((connection, complete)) = connecting.into_0rtt() else { unreachable!() };
    let watched = connection.clone();
    tokio::spawn(async move {
        complete.await;
        _ = seen.send(describe(&watched).await);
    });
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        if updates_keys {
            connection.force_key_update();
        }
        let Ok(data) = receive.read_to_end(1 << 20).await else { return };
        _ = send.write_all(&data).await;
        _ = send.finish();
    }
}

async fn describe(connection: &Connection) -> Seen {
    if let Some(error) = connection.close_reason() {
        return Seen { error: Some(error), ..Seen::default() };
    }
    let mut seen = Seen::default();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let data = connection.handshake_data().unwrap();
    match data.downcast::<HandshakeData>() {
        Ok(data) => {
            seen.protocol = data.protocol.map(text);
            seen.name = data.server_name;
            seen.resumed = data.resumed;
        }
        Err(data) => {
            let data = data.downcast::<quinn::crypto::rustls::HandshakeData>().unwrap();
            seen.protocol = data.protocol.map(text);
            seen.name = data.server_name;
        }
    }
    connection.export_keying_material(&mut seen.exported, b"label", b"context").unwrap();
    let identity = connection.peer_identity();
    let chain = identity.map(|chain| chain.downcast::<Vec<CertificateDer<'static>>>().unwrap());
    seen.certificates = chain.map_or(0, |chain| chain.len());
    seen
}

/// Sends this number of bytes on a stream, and returns the number of bytes that the server
/// returned.
pub(crate) async fn echo(connection: &Connection, bytes: usize) -> usize {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(&vec![7; bytes]).await.unwrap();
    send.finish().unwrap();
    let received = receive.read_to_end(1 << 20).await.unwrap();
    assert!(received.iter().all(|byte| *byte == 7));
    received.len()
}
