//! Configuration of rustls 0.24 for a row, and its negotiated parameters.

use std::fs;
use std::sync::Arc;

use lab_scenario::{
    Files, Group, Outcome, PrepareError, Result, Resumption, Row, Scheme, Suite, Version,
};
use rustls::client::{Resumption as ClientResumption, Tls12Resumption};
use rustls::crypto::kx::SupportedKxGroup;
use rustls::crypto::{CryptoProvider, Identity, SignatureScheme, WebPkiSupportedAlgorithms};
use rustls::enums::ProtocolVersion;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SignatureVerificationAlgorithm,
};
use rustls::server::{
    NoServerSessionStorage, ServerSessionMemoryCache, Tls13Tickets, WebPkiClientVerifier,
};
use rustls::{ClientConfig, CommonState, HandshakeKind, RootCertStore, ServerConfig};
use rustls_aws_lc_rs::{self as aws_lc, kx_group};

/// The early data limit of tickets, in bytes.
const MAX_EARLY_DATA: u32 = 16 << 10;

/// The capacity of the session caches.
const SESSIONS: usize = 1024;

type PreparedTask<T> = std::result::Result<T, PrepareError>;

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
    ) -> PreparedTask<Self> {
        let root = fs::read(files.root(row.chain))?;
        let client = Arc::new(client_with_roots(&root, row, files, provider)?);
        let chain = fs::read(files.server_chain(row.chain))?;
        let key = fs::read(files.server_key(row.chain))?;
        let server = Arc::new(server_with_chain(&chain, &key, row, files, provider)?);
        Ok(Self { client, server, name: ServerName::try_from(files.server_name())? })
    }
}

/// The client configuration with these roots, in PEM.
pub(crate) fn client_with_roots(
    pem: &[u8],
    row: &Row,
    files: &Files,
    provider: &Arc<CryptoProvider>,
) -> PreparedTask<ClientConfig> {
    let builder = ClientConfig::builder(Arc::clone(provider)).with_root_certificates(roots(pem)?);
    let mut config = match row.client_chain {
        None => builder.with_no_client_auth()?,
        Some(chain) => builder.with_client_auth_cert(
            identity(&fs::read(files.client_chain(chain))?)?,
            PrivateKeyDer::from_pem_file(files.client_key(chain))?,
        )?,
    };
    config.resumption = match (row.resumption, row.version) {
        (None, _) => ClientResumption::disabled(),
        (Some(Resumption::Stateful), Version::Tls12) => {
            ClientResumption::in_memory_sessions(SESSIONS)
                .tls12_resumption(Tls12Resumption::SessionIdOnly)
        }
        _ => ClientResumption::in_memory_sessions(SESSIONS),
    };
    config.enable_early_data = row.early_data > 0;
    Ok(config)
}

/// The server configuration with this chain and key, both in PEM.
pub(crate) fn server_with_chain(
    chain: &[u8],
    key: &[u8],
    row: &Row,
    files: &Files,
    provider: &Arc<CryptoProvider>,
) -> PreparedTask<ServerConfig> {
    let builder = ServerConfig::builder(Arc::clone(provider));
    let builder = match row.client_chain {
        None => builder.with_no_client_auth(),
        Some(chain) => {
            let roots = Arc::new(roots(&fs::read(files.root(chain))?)?);
            let verifier = WebPkiClientVerifier::builder(roots, provider).build()?;
            builder.with_client_cert_verifier(Arc::new(verifier))
        }
    };
    let mut config =
        builder.with_single_cert(identity(chain)?, PrivateKeyDer::from_pem_slice(key)?)?;
    config.session_storage = match row.resumption {
        Some(Resumption::Stateful) => ServerSessionMemoryCache::new(SESSIONS),
        _ => Arc::new(NoServerSessionStorage {}),
    };
    if row.resumption == Some(Resumption::Stateless) {
        config.ticketer = Some(provider.ticketer_factory.ticketer()?);
    }
    let mut tickets = Tls13Tickets::default();
    (tickets.default, tickets.max) = (row.tickets.into(), row.tickets.into());
    config.send_tls13_tickets = tickets;
    config.max_early_data_size = if row.early_data > 0 { MAX_EARLY_DATA } else { 0 };
    Ok(config)
}

/// The default provider, limited to the row's suite, groups and signature scheme.
pub(crate) fn provider(row: &Row) -> PreparedTask<CryptoProvider> {
    let mut provider = aws_lc::DEFAULT_PROVIDER;
    let number = row.suite.number();
    provider.tls12_cipher_suites.to_mut().retain(|suite| suite.common.suite.0 == number);
    provider.tls13_cipher_suites.to_mut().retain(|suite| suite.common.suite.0 == number);
    if provider.tls12_cipher_suites.is_empty() && provider.tls13_cipher_suites.is_empty() {
        return Err(PrepareError::unsupported(row.suite.name()));
    }
    provider.kx_groups = row.groups().into_iter().map(group).collect();
    provider.signature_verification_algorithms = algorithms(row.chain.scheme())?;
    Ok(provider)
}

fn algorithms(scheme: Scheme) -> PreparedTask<WebPkiSupportedAlgorithms> {
    type Algorithm = &'static dyn SignatureVerificationAlgorithm;
    // The type requires static lists. A worker configures few rows, so leaking them is acceptable.
    let one = |scheme, algorithm: Algorithm| -> (SignatureScheme, &'static [Algorithm]) {
        (scheme, Box::leak(Box::new([algorithm])))
    };
    let mapping = match scheme {
        Scheme::RsaPssRsaeSha256 => vec![
            one(SignatureScheme::RSA_PSS_SHA256, aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY),
            one(SignatureScheme::RSA_PKCS1_SHA256, aws_lc::RSA_PKCS1_2048_8192_SHA256),
        ],
        Scheme::EcdsaSecp256r1Sha256 => {
            vec![one(SignatureScheme::ECDSA_NISTP256_SHA256, aws_lc::ECDSA_P256_SHA256)]
        }
        Scheme::Ed25519 => vec![one(SignatureScheme::ED25519, aws_lc::ED25519)],
    };
    Ok(WebPkiSupportedAlgorithms::new(
        aws_lc::ALL_VERIFICATION_ALGS,
        Box::leak(mapping.into_boxed_slice()),
    )?)
}

fn group(group: Group) -> &'static dyn SupportedKxGroup {
    match group {
        Group::X25519 => kx_group::X25519,
        Group::X25519MlKem768 => kx_group::X25519MLKEM768,
        Group::Secp256r1 => kx_group::SECP256R1,
    }
}

fn roots(pem: &[u8]) -> PreparedTask<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate?)?;
    }
    Ok(roots)
}

fn identity(pem: &[u8]) -> PreparedTask<Arc<Identity<'static>>> {
    let chain = CertificateDer::pem_slice_iter(pem).collect::<std::result::Result<_, _>>()?;
    Ok(Arc::new(Identity::from_cert_chain(chain)?))
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
    let suite = connection.negotiated_cipher_suite();
    let suite = suite.and_then(|each| Suite::of_number(each.suite().0));
    let group = connection.negotiated_key_exchange_group();
    let resumed = match connection.handshake_kind() {
        Some(HandshakeKind::Full) => false,
        Some(HandshakeKind::Resumed) => true,
        other => return Err(format!("a handshake of the kind {other:?}").into()),
    };
    Ok(Outcome {
        version,
        suite: suite.ok_or("an unknown suite")?,
        group: group.and_then(|group| Group::of_number(group.name().0)),
        scheme: None,
        resumed,
        client_certificate: None,
        tickets: None,
        early_data: 0,
    })
}
