//! How BoringSSL is configured for a row.
//!
//! Must not know: how connections are driven. Next: `session.rs`, which keeps what can be resumed.

use std::fs;
use std::path::Path;
use std::ptr;

use boring::base64::decode_block;
use boring::error::ErrorStack;
use boring::pkey::{PKey, Private};
use boring::ssl::{
    SslContext, SslContextBuilder, SslFiletype, SslMethod, SslOptions, SslSessionCacheMode,
    SslVerifyMode, SslVersion,
};
use boring::x509::X509Name;
use boring_sys as ffi;
use lab_scenario::{Chain, Files, Group, Resumption, Row, Scheme, Unable, Version};

use crate::session;

type Result<T> = std::result::Result<T, Unable>;

/// Whether BoringSSL can do what the row asks.
pub(crate) fn can(row: &Row) -> Result<()> {
    match (row.version, row.resumption) {
        (Version::Tls13, Some(Resumption::Stateful)) => {
            Err(Unable::cannot("its sessions of TLS 1.3 are always in the ticket"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = both(row)?;
    builder.set_verify(SslVerifyMode::PEER);
    builder.load_verify_locations(Some(&files.root(row.chain)), None)?;
    if let Some(chain) = row.client_chain {
        builder.set_certificate_chain_file(files.client_chain(chain))?;
        set_key(&mut builder, chain, &files.client_key(chain))?;
    }
    // It keeps none itself on this side.
    builder.set_session_cache_mode(SslSessionCacheMode::CLIENT);
    session::keep_arriving(&mut builder);
    // As a client of TLS 1.3 it takes tickets all the same, so that they are counted.
    if row.version == Version::Tls12 && row.resumption != Some(Resumption::Stateless) {
        builder.set_options(SslOptions::NO_TICKET);
    }
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = both(row)?;
    builder.set_certificate_chain_file(files.server_chain(row.chain))?;
    set_key(&mut builder, row.chain, &files.server_key(row.chain))?;
    if let Some(chain) = row.client_chain {
        builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        builder.load_verify_locations(Some(&files.root(chain)), None)?;
        builder.set_client_ca_list(X509Name::load_client_ca_file(files.root(chain))?);
    }
    builder.set_session_id_context(b"lab")?;
    builder.set_session_cache_mode(match row.resumption {
        Some(Resumption::Stateful) => SslSessionCacheMode::SERVER,
        _ => SslSessionCacheMode::OFF,
    });
    match row.resumption {
        Some(Resumption::Stateless) => session::issue(&mut builder, row)?,
        _ => {
            builder.set_options(SslOptions::NO_TICKET);
        }
    }
    Ok(builder.build())
}

fn both(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = SslContext::builder(SslMethod::tls())?;
    let version = match row.version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    };
    builder.set_min_proto_version(Some(version))?;
    builder.set_max_proto_version(Some(version))?;
    match row.version {
        Version::Tls12 => builder.set_strict_cipher_list(row.suite.name())?,
        Version::Tls13 => {
            let (context, suite) = (builder.as_ptr(), row.suite.number());
            // SAFETY: one suite is told, and there is one.
            if unsafe { ffi::SSL_CTX_set1_tls13_ciphers(context, &suite, ptr::null(), 1) } != 1 {
                return Err(ErrorStack::get().into());
            }
        }
    }
    let groups: Vec<_> = row.groups().into_iter().map(group).collect();
    builder.set_curves_list(&groups.join(":"))?;
    builder.set_sigalgs_list(match row.chain.scheme() {
        // The second is that of the certificates.
        Scheme::RsaPssRsaeSha256 => "rsa_pss_rsae_sha256:rsa_pkcs1_sha256",
        scheme => scheme.name(),
    })?;
    Ok(builder)
}

fn set_key(builder: &mut SslContextBuilder, chain: Chain, file: &Path) -> Result<()> {
    match chain {
        Chain::Ed25519 => {
            let key = ed25519_key(file)?;
            builder.set_private_key(&key)?;
        }
        _ => builder.set_private_key_file(file, SslFiletype::PEM)?,
    }
    Ok(())
}

/// The files have Ed25519 keys together with the public key, a form that BoringSSL does not read; this leaves it
/// out. RFC 8410 7
fn ed25519_key(file: &Path) -> Result<PKey<Private>> {
    let text = fs::read_to_string(file)?;
    let inside: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let bytes = decode_block(&inside)?;
    let secret = bytes.get(ED25519_KEY.len()..ED25519_KEY.len() + 32);
    let secret = secret.ok_or_else(|| std::io::Error::other("too short for an Ed25519 key"))?;
    Ok(PKey::private_key_from_der(&[ED25519_KEY, secret].concat())?)
}

/// What comes before the 32 bytes of the key if nothing comes after them.
const ED25519_KEY: &[u8] = &[
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// BoringSSL's name for it.
fn group(group: Group) -> &'static str {
    match group {
        Group::Secp256r1 => "P-256",
        other => other.name(),
    }
}
