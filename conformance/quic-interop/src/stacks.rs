//! Configurations of Tercel and of rustls by options.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use quinn::crypto;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tercel_quinn::tercel::pki::Roots;
use tercel_quinn::tercel::pki_types::UnixTime;
use tercel_quinn::tercel::server::ClientAuth;
use tercel_quinn::tercel::session::AdmitEarlyData;
use tercel_quinn::tercel::wire::{CipherSuite, NamedGroup};
use tercel_quinn::tercel::{self, Credential, Policy};
use tercel_quinn::{QuicClientConfig, QuicServerConfig};

use crate::options::Options;

/// The implementation of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Stack {
    Tercel,
    Rustls,
}

pub(crate) fn client(stack: Stack, options: &Options) -> Result<Arc<dyn crypto::ClientConfig>> {
    Ok(match stack {
        Stack::Tercel => Arc::new(QuicClientConfig::try_from(tercel_client(options)?)?),
        Stack::Rustls => {
            let config = rustls_client(options)?;
            Arc::new(quinn::crypto::rustls::QuicClientConfig::try_from(config)?)
        }
    })
}

pub(crate) fn server(stack: Stack, options: &Options) -> Result<Arc<dyn crypto::ServerConfig>> {
    Ok(match stack {
        Stack::Tercel => Arc::new(QuicServerConfig::try_from(tercel_server(options)?)?),
        Stack::Rustls => {
            let config = rustls_server(options)?;
            Arc::new(quinn::crypto::rustls::QuicServerConfig::try_from(config)?)
        }
    })
}

/// The settings that both builders of Tercel have.
macro_rules! common {
    ($builder:expr, $options:expr) => {{
        let options = $options;
        let mut builder = $builder.alpn(&[options.alpn.as_str()]);
        if options.chacha20 {
            builder = builder.cipher_suites(&[CipherSuite::TLS_CHACHA20_POLY1305_SHA256]);
        }
        if options.early_data {
            builder = builder.quic_early_data_context(b"interop");
        }
        if let (Some(cert), Some(key)) = (&options.cert, &options.key) {
            builder = builder.credential(Credential::from_pem(&fs::read(cert)?, &fs::read(key)?)?);
        }
        builder
    }};
}

pub(crate) fn tercel_client(options: &Options) -> Result<Arc<tercel::ClientConfig>> {
    let mut builder = common!(tercel::ClientConfig::builder(), options)
        .roots(roots(options)?.context("a client needs --roots")?)
        .early_data(options.early_data);
    if options.p384 {
        builder = builder
            .groups(&[NamedGroup::X25519, NamedGroup::SECP384R1])
            .key_shares(&[NamedGroup::X25519]);
    }
    Ok(builder.build()?)
}

fn tercel_server(options: &Options) -> Result<Arc<tercel::ServerConfig>> {
    let mut builder = common!(tercel::ServerConfig::builder(), options);
    if options.p384 {
        builder = builder.groups(&[NamedGroup::SECP384R1]);
    }
    if options.early_data {
        builder = builder.early_data(1, Policy::Here(Arc::new(AdmitAll) as _));
    }
    if let Some(roots) = roots(options)? {
        builder = builder.client_auth(ClientAuth::Required, roots);
    }
    Ok(builder.build()?)
}

fn roots(options: &Options) -> Result<Option<Roots>> {
    let Some(file) = &options.roots else { return Ok(None) };
    let mut roots = Roots::new();
    roots.add_pem(&fs::read(file)?)?;
    Ok(Some(roots))
}

/// A replay guard that admits everything at once. Tercel's guard admits nothing for a while after
/// its start.
struct AdmitAll;

impl AdmitEarlyData for AdmitAll {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }

    fn freshness_window(&self) -> Duration {
        Duration::from_secs(60)
    }
}

fn provider(options: &Options, is_server: bool) -> Arc<rustls::crypto::CryptoProvider> {
    use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
    let mut provider = default_provider();
    if options.p384 {
        provider.kx_groups = vec![kx_group::SECP384R1];
        if !is_server {
            provider.kx_groups.insert(0, kx_group::X25519);
        }
    }
    Arc::new(provider)
}

fn rustls_client(options: &Options) -> Result<rustls::ClientConfig> {
    let builder = rustls::ClientConfig::builder_with_provider(provider(options, false))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(rustls_roots(options)?.context("a client needs --roots")?);
    let mut config = match chain_and_key(options)? {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![options.alpn.clone().into_bytes()];
    config.enable_early_data = options.early_data;
    Ok(config)
}

fn rustls_server(options: &Options) -> Result<rustls::ServerConfig> {
    let provider = provider(options, true);
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let builder = match rustls_roots(options)? {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let roots = Arc::new(roots);
            let verifier =
                rustls::server::WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let (chain, key) = chain_and_key(options)?.context("a server needs --cert and --key")?;
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![options.alpn.clone().into_bytes()];
    config.max_early_data_size = if options.early_data { u32::MAX } else { 0 };
    Ok(config)
}

fn rustls_roots(options: &Options) -> Result<Option<rustls::RootCertStore>> {
    let Some(file) = &options.roots else { return Ok(None) };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    Ok(Some(roots))
}

type ChainAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn chain_and_key(options: &Options) -> Result<Option<ChainAndKey>> {
    let (Some(cert), Some(key)) = (&options.cert, &options.key) else { return Ok(None) };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(cert)?.collect();
    Ok(Some((chain?, PrivateKeyDer::from_pem_file(key)?)))
}
