//! Configuration of rustls for a row, and its negotiated parameters. Shared by all workers for this
//! release.
//!
//! The cryptography is rustls' own provider on aws-lc-rs, or Tercel's if the package has the
//! feature `tercel`; with the feature `memory`, clients remember certificate signatures.

use std::fs;
use std::sync::Arc;

use lab_scenario::{
    About, Accounting, Files, Group, Outcome, PrepareError, Result, Resumption, Row, Scheme, Suite,
    Version, locked_version,
};
use rustls::client::{Resumption as ClientResumption, Tls12Resumption};
#[cfg(not(feature = "tercel"))]
pub(crate) use rustls::crypto::aws_lc_rs as cryptography;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{
    ClientConfig, CommonState, HandshakeKind, ProtocolVersion, RootCertStore, ServerConfig,
    SignatureScheme, SupportedProtocolVersion,
};
#[cfg(feature = "tercel")]
pub(crate) use tercel_rustls as cryptography;

use cryptography::{Ticketer, default_provider, kx_group};

/// The early data limit of tickets, in bytes.
const MAX_EARLY_DATA: u32 = 16 << 10;

/// The capacity of the session caches.
const SESSIONS: usize = 1024;

/// The capacity of the session caches in rustls-bench.
const PUBLISHED_SESSIONS: usize = 128;

/// The configurations of both sides for a row.
pub(crate) struct Configured {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) name: ServerName<'static>,
}

impl Configured {
    pub(crate) fn new(
        row: &Row,
        files: &Files,
        provider: &Arc<CryptoProvider>,
    ) -> std::result::Result<Self, PrepareError> {
        let name = ServerName::try_from(files.server_name())?;
        let client = Arc::new(client(row, files, provider)?);
        Ok(Self { client, server: Arc::new(server(row, files, provider)?), name })
    }
}

/// The description of the worker. `interface` is the interface of rustls that it uses.
pub(crate) fn about(interface: &str) -> About {
    let lock = include_str!("../../../Cargo.lock");
    About {
        library: "rustls".to_owned(),
        version: locked_version(lock, "rustls").to_owned(),
        crypto: crypto(lock),
        interface: interface.to_owned(),
        build: "release, thin LTO, one codegen unit".to_owned(),
        ..About::default()
    }
}

#[cfg(not(feature = "tercel"))]
fn crypto(lock: &str) -> String {
    if default_provider().fips() {
        return "AWS-LC's FIPS module, by the feature fips".to_owned();
    }
    let [rust, sys] = ["aws-lc-rs", "aws-lc-sys"].map(|name| locked_version(lock, name));
    format!("AWS-LC (aws-lc-rs {rust}, aws-lc-sys {sys})")
}

#[cfg(feature = "tercel")]
fn crypto(lock: &str) -> String {
    use tercel_crypto::{Kernel, kernel_state};
    let state = |kernel: &Kernel| format!("{kernel} {}", kernel_state(*kernel));
    let kernels = Kernel::ALL.iter().map(state).collect::<Vec<_>>().join(", ");
    let aws_lc = locked_version(lock, "aws-lc-sys");
    let memory = if cfg!(feature = "memory") { "; memory of signatures" } else { "" };
    format!("tercel-rustls on AWS-LC (aws-lc-sys {aws_lc}); kernels: {kernels}{memory}")
}

fn is_published(row: &Row) -> bool {
    row.accounting == Accounting::Published
}

fn client(
    row: &Row,
    files: &Files,
    provider: &Arc<CryptoProvider>,
) -> std::result::Result<ClientConfig, PrepareError> {
    client_with_roots(&fs::read(files.root(row.chain))?, row, files, provider)
}

/// The client configuration with these roots, in PEM.
pub(crate) fn client_with_roots(
    pem: &[u8],
    row: &Row,
    files: &Files,
    provider: &Arc<CryptoProvider>,
) -> std::result::Result<ClientConfig, PrepareError> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[version(row.version)])?
        .with_root_certificates(roots(pem)?);
    let mut config = match row.client_chain {
        None => builder.with_no_client_auth(),
        Some(chain) => builder.with_client_auth_cert(
            certificates(&fs::read(files.client_chain(chain))?)?,
            PrivateKeyDer::from_pem_file(files.client_key(chain))?,
        )?,
    };
    config.resumption = match (row.resumption, row.version) {
        (None, _) => ClientResumption::disabled(),
        _ if is_published(row) => ClientResumption::in_memory_sessions(PUBLISHED_SESSIONS),
        (Some(Resumption::Stateful), Version::Tls12) => {
            ClientResumption::in_memory_sessions(SESSIONS)
                .tls12_resumption(Tls12Resumption::SessionIdOnly)
        }
        _ => ClientResumption::in_memory_sessions(SESSIONS),
    };
    config.enable_early_data = row.early_data > 0;
    Ok(config)
}

fn server(
    row: &Row,
    files: &Files,
    provider: &Arc<CryptoProvider>,
) -> std::result::Result<ServerConfig, PrepareError> {
    let key = fs::read(files.server_key(row.chain))?;
    server_with_chain(&fs::read(files.server_chain(row.chain))?, &key, row, files, provider)
}

/// The server configuration with this chain and key, in PEM.
pub(crate) fn server_with_chain(
    chain: &[u8],
    key: &[u8],
    row: &Row,
    files: &Files,
    provider: &Arc<CryptoProvider>,
) -> std::result::Result<ServerConfig, PrepareError> {
    let mut provider = Arc::clone(provider);
    if is_published(row) {
        // Only the client's suite is pinned.
        let cipher_suites = default_provider().cipher_suites;
        provider = Arc::new(CryptoProvider { cipher_suites, ..CryptoProvider::clone(&provider) });
    }
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[version(row.version)])?;
    let builder = match row.client_chain {
        None => builder.with_no_client_auth(),
        Some(chain) => {
            let roots = Arc::new(roots(&fs::read(files.root(chain))?)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build()?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config =
        builder.with_single_cert(certificates(chain)?, PrivateKeyDer::from_pem_slice(key)?)?;
    match row.resumption {
        None => config.session_storage = Arc::new(NoServerSessionStorage {}),
        Some(Resumption::Stateful) if is_published(row) => {
            config.session_storage = ServerSessionMemoryCache::new(PUBLISHED_SESSIONS);
        }
        Some(Resumption::Stateful) => {
            config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        }
        Some(Resumption::Stateless) => {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.ticketer = Ticketer::new()?;
        }
    }
    if !is_published(row) {
        config.send_tls13_tickets = row.tickets.into();
    }
    config.max_early_data_size = if row.early_data > 0 { MAX_EARLY_DATA } else { 0 };
    Ok(config)
}

/// The default provider, limited to the row's suite, groups and signature scheme; in published
/// accounting limited to its suite.
pub(crate) fn provider(row: &Row) -> std::result::Result<CryptoProvider, PrepareError> {
    let mut provider = default_provider();
    #[cfg(feature = "memory")]
    if !row.first_visit {
        provider = cryptography::with_signature_memory(provider, 1024)?;
    }
    provider.cipher_suites.retain(|suite| self::suite(suite.suite()) == Some(row.suite));
    if provider.cipher_suites.is_empty() {
        return Err(PrepareError::unsupported(row.suite.name()));
    }
    if is_published(row) {
        // The groups are in the order of the library's default features.
        let groups = [Group::X25519MlKem768, Group::X25519, Group::Secp256r1].map(group);
        provider.kx_groups = groups.into_iter().chain([kx_group::SECP384R1]).collect();
        if row.pins_groups() {
            provider.kx_groups.retain(|each| each.name() != group(Group::X25519MlKem768).name());
        }
        return Ok(provider);
    }
    provider.kx_groups = row.groups().into_iter().map(group).collect();
    let schemes: &[SignatureScheme] = match row.chain.scheme() {
        Scheme::RsaPssRsaeSha256 => {
            &[SignatureScheme::RSA_PSS_SHA256, SignatureScheme::RSA_PKCS1_SHA256]
        }
        Scheme::EcdsaSecp256r1Sha256 => &[SignatureScheme::ECDSA_NISTP256_SHA256],
        Scheme::Ed25519 => &[SignatureScheme::ED25519],
    };
    let known = provider.signature_verification_algorithms;
    let mapping: Vec<_> =
        known.mapping.iter().filter(|(scheme, _)| schemes.contains(scheme)).copied().collect();
    // The type requires static lists. A worker configures few rows, so leaking them is acceptable.
    provider.signature_verification_algorithms = WebPkiSupportedAlgorithms {
        all: known.all,
        mapping: Box::leak(mapping.into_boxed_slice()),
    };
    Ok(provider)
}

fn group(group: Group) -> &'static dyn SupportedKxGroup {
    match group {
        Group::X25519 => kx_group::X25519,
        Group::X25519MlKem768 => kx_group::X25519MLKEM768,
        Group::Secp256r1 => kx_group::SECP256R1,
    }
}

fn suite(suite: rustls::CipherSuite) -> Option<Suite> {
    // rustls names TLS 1.3 suites with the prefix "TLS13_".
    let name = suite.as_str()?.replacen("TLS13_", "TLS_", 1);
    Suite::ALL.iter().find(|each| each.name() == name).copied()
}

fn version(version: Version) -> &'static SupportedProtocolVersion {
    match version {
        Version::Tls12 => &rustls::version::TLS12,
        Version::Tls13 => &rustls::version::TLS13,
    }
}

fn roots(pem: &[u8]) -> std::result::Result<RootCertStore, PrepareError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate?)?;
    }
    Ok(roots)
}

fn certificates(pem: &[u8]) -> std::result::Result<Vec<CertificateDer<'static>>, PrepareError> {
    Ok(CertificateDer::pem_slice_iter(pem).collect::<std::result::Result<_, _>>()?)
}

/// The negotiated parameters that both ends report.
pub(crate) fn outcome(connection: &CommonState) -> Result<Outcome> {
    if connection.is_handshaking() {
        return Err("not connected".into());
    }
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => Version::Tls12,
        Some(ProtocolVersion::TLSv1_3) => Version::Tls13,
        other => return Err(format!("{other:?}").into()),
    };
    let suite = connection.negotiated_cipher_suite().and_then(|each| suite(each.suite()));
    let name = connection.negotiated_key_exchange_group().map(SupportedKxGroup::name);
    let group = Group::ALL.iter().find(|each| Some(group(**each).name()) == name);
    let resumed = match connection.handshake_kind() {
        Some(HandshakeKind::Full) => false,
        Some(HandshakeKind::Resumed) => true,
        other => return Err(format!("a handshake of the kind {other:?}").into()),
    };
    Ok(Outcome {
        version,
        suite: suite.ok_or("an unknown suite")?,
        group: group.copied(),
        scheme: None,
        resumed,
        client_certificate: None,
        tickets: None,
        early_data: 0,
    })
}
