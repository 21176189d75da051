//! Endpoints of quinn with Tercel and with rustls, with equal settings.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, Result};
use quinn::crypto::rustls as quinn_rustls;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, cipher_suite, default_provider, kx_group};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ProducesTickets;
use tercel::wire::{CipherSuite, NamedGroup};
use tercel::{ClientConfig, Credential, ServerConfig};
use tercel_quinn::{HandshakeData, QuicClientConfig, QuicServerConfig};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::server;

/// The implementation of quinn's crypto traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Provider {
    Tercel,
    Rustls,
}

impl Provider {
    pub(crate) const ALL: [Self; 2] = [Self::Tercel, Self::Rustls];
}

/// The suite of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

/// The settings of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) suite: Suite,
    pub(crate) resumes: bool,
}

/// A server's certificates and key on P-256, and the root.
pub(crate) struct Identity {
    root: CertificateDer<'static>,
    chain: Vec<CertificateDer<'static>>,
    key: Vec<u8>,
}

const NAME: &str = "localhost";
const ALPN: &str = "perf";

impl Identity {
    pub(crate) fn new() -> Result<Self> {
        let issuer = |name: &str| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params
        };
        let root = CertifiedIssuer::self_signed(issuer("root"), KeyPair::generate()?)?;
        let middle = CertifiedIssuer::signed_by(issuer("middle"), KeyPair::generate()?, &root)?;
        let key = KeyPair::generate()?;
        let leaf = CertificateParams::new(vec![NAME.to_owned()])?.signed_by(&key, &middle)?;
        Ok(Self {
            root: root.der().clone(),
            chain: vec![leaf.der().clone(), middle.der().clone()],
            key: key.serialize_der(),
        })
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::try_from(self.key.clone()).map_err(anyhow::Error::msg)
    }
}

/// A client, and a server in its own thread, which ends with this value.
pub(crate) struct Endpoints {
    client: quinn::Endpoint,
    config: quinn::ClientConfig,
    server: SocketAddr,
    /// The number of sessions that the server has resumed.
    resumed: Arc<AtomicU64>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Endpoints {
    pub(crate) fn start(
        provider: Provider,
        settings: Settings,
        identity: &Identity,
        runtime: &Runtime,
    ) -> Result<Self> {
        let resumed = Arc::<AtomicU64>::default();
        let (config, server) = match provider {
            Provider::Tercel => tercel_sides(settings, identity)?,
            Provider::Rustls => rustls_sides(settings, identity, &resumed)?,
        };
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let servers = Builder::new_current_thread().enable_all().build()?;
        let listening = {
            let _entered = servers.enter();
            tercel_quinn::server_endpoint(server, any)?
        };
        let server = listening.local_addr()?;
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            servers.block_on(async {
                tokio::select! {
                    () = server::run(&listening) => {}
                    _ = ended => {}
                }
            });
        });
        let _entered = runtime.enter();
        let client = tercel_quinn::client_endpoint(any)?;
        Ok(Self { client, config, server, resumed, end: Some(end), thread: Some(thread) })
    }

    pub(crate) async fn connect(&self) -> Result<quinn::Connection> {
        let connecting = self.client.connect_with(self.config.clone(), self.server, NAME)?;
        let connection = connecting.await.context("cannot connect")?;
        // rustls does not report this here; its server counts.
        let data = connection.handshake_data();
        if let Some(data) = data.and_then(|data| data.downcast::<HandshakeData>().ok()) {
            self.resumed.fetch_add(u64::from(data.resumed), Ordering::Relaxed);
        }
        Ok(connection)
    }

    /// The number of sessions that were resumed so far.
    pub(crate) fn resumed(&self) -> u64 {
        self.resumed.load(Ordering::Relaxed)
    }
}

impl Drop for Endpoints {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

type Configurations = (quinn::ClientConfig, quinn::ServerConfig);

fn tercel_sides(settings: Settings, identity: &Identity) -> Result<Configurations> {
    let suite = match settings.suite {
        Suite::Aes128 => CipherSuite::TLS_AES_128_GCM_SHA256,
        Suite::Aes256 => CipherSuite::TLS_AES_256_GCM_SHA384,
        Suite::ChaCha20 => CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    };
    let groups = [NamedGroup::X25519MLKEM768];
    let mut roots = tercel::pki::Roots::new();
    roots.add_der(&identity.root)?;
    let client = ClientConfig::builder().roots(roots).cipher_suites(&[suite]);
    let mut client = client.groups(&groups).alpn(&[ALPN]);
    let credential = Credential::new(identity.chain.clone(), &identity.private_key()?)?;
    let server = ServerConfig::builder().credential(credential).cipher_suites(&[suite]);
    let mut server = server.groups(&groups).alpn(&[ALPN]).ticket_counts(1, 1);
    if !settings.resumes {
        (client, server) = (client.without_resumption(), server.without_tickets());
    }
    let client = tercel_quinn::client_config(QuicClientConfig::try_from(client.build()?)?);
    let server = tercel_quinn::server_config(QuicServerConfig::try_from(server.build()?)?)?;
    Ok((client, server))
}

/// Tickets of rustls, which are counted when they are accepted.
#[derive(Debug)]
struct CountedTickets {
    inner: Arc<dyn ProducesTickets>,
    accepted: Arc<AtomicU64>,
}

impl ProducesTickets for CountedTickets {
    fn enabled(&self) -> bool {
        self.inner.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.inner.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let plain = self.inner.decrypt(cipher)?;
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Some(plain)
    }
}

fn rustls_sides(
    settings: Settings,
    identity: &Identity,
    resumed: &Arc<AtomicU64>,
) -> Result<Configurations> {
    let suite = match settings.suite {
        Suite::Aes128 => cipher_suite::TLS13_AES_128_GCM_SHA256,
        Suite::Aes256 => cipher_suite::TLS13_AES_256_GCM_SHA384,
        Suite::ChaCha20 => cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    };
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![suite],
        kx_groups: vec![kx_group::X25519MLKEM768],
        ..default_provider()
    });
    let versions = [&rustls::version::TLS13];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.root.clone())?;
    let client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider));
    let client = client.with_protocol_versions(&versions)?.with_root_certificates(roots);
    let mut client = client.with_no_client_auth();
    let server = rustls::ServerConfig::builder_with_provider(provider);
    let server = server.with_protocol_versions(&versions)?.with_no_client_auth();
    let mut server = server.with_single_cert(identity.chain.clone(), identity.private_key()?)?;
    client.alpn_protocols = vec![ALPN.into()];
    server.alpn_protocols = vec![ALPN.into()];
    server.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    server.send_tls13_tickets = usize::from(settings.resumes);
    if settings.resumes {
        let (inner, accepted) = (Ticketer::new()?, Arc::clone(resumed));
        server.ticketer = Arc::new(CountedTickets { inner, accepted });
    } else {
        client.resumption = rustls::client::Resumption::disabled();
    }
    // The suite of Initial packets.
    let initial = || {
        let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
        suite.and_then(rustls::Tls13CipherSuite::quic_suite).context("no suite for Initial packets")
    };
    let client = quinn_rustls::QuicClientConfig::with_initial(Arc::new(client), initial()?)?;
    let server = quinn_rustls::QuicServerConfig::with_initial(Arc::new(server), initial()?)?;
    let client = quinn::ClientConfig::new(Arc::new(client));
    Ok((client, quinn::ServerConfig::with_crypto(Arc::new(server))))
}
