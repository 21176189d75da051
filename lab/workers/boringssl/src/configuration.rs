//! Configuration of BoringSSL for a row.

use std::fs;
use std::ptr;

use boring::base64::decode_block;
use boring::error::ErrorStack;
use boring::pkey::{PKey, Private};
use boring::ssl::{SslContext, SslContextBuilder, SslOptions, SslSessionCacheMode, SslVerifyMode};
use boring::x509::store::{X509Store, X509StoreBuilder};
use boring::x509::{X509, X509Name};
use boring_sys as ffi;
use lab_scenario::{Chain, Files, Group, PrepareError, Resumption, Row, Version};

use crate::{context, session};

type Result<T> = std::result::Result<T, PrepareError>;

/// Checks that BoringSSL supports the row.
pub(crate) fn can(row: &Row) -> Result<()> {
    match (row.version, row.resumption) {
        (Version::Tls13, Some(Resumption::Stateful)) => {
            Err(PrepareError::unsupported("TLS 1.3 sessions are always stateless"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    client_with_roots(&fs::read(files.root(row.chain))?, row, files)
}

/// The client configuration with these roots, in PEM.
pub(crate) fn client_with_roots(roots: &[u8], row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = base_context(row)?;
    builder.set_verify(SslVerifyMode::PEER);
    builder.set_cert_store(store(roots)?);
    if let Some(chain) = row.client_chain {
        let key = fs::read(files.client_key(chain))?;
        show(&mut builder, chain, &fs::read(files.client_chain(chain))?, &key)?;
    }
    // A BoringSSL client does not store sessions itself.
    builder.set_session_cache_mode(SslSessionCacheMode::CLIENT);
    session::store_received(&mut builder);
    // A TLS 1.3 client accepts tickets even then, so that they are counted.
    if row.version == Version::Tls12 && row.resumption != Some(Resumption::Stateless) {
        builder.set_options(SslOptions::NO_TICKET);
    }
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    let key = fs::read(files.server_key(row.chain))?;
    server_with_chain(&fs::read(files.server_chain(row.chain))?, &key, row, files)
}

/// The server configuration with this chain and key, in PEM.
pub(crate) fn server_with_chain(
    chain: &[u8],
    key: &[u8],
    row: &Row,
    files: &Files,
) -> Result<SslContext> {
    let mut builder = base_context(row)?;
    show(&mut builder, row.chain, chain, key)?;
    if let Some(chain) = row.client_chain {
        builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        builder.set_cert_store(store(&fs::read(files.root(chain))?)?);
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

fn base_context(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = context::of_version(row)?;
    match row.version {
        Version::Tls12 => builder.set_strict_cipher_list(row.suite.name())?,
        Version::Tls13 => {
            let (context, suite) = (builder.as_ptr(), row.suite.number());
            // SAFETY: the array has the given length of one.
            if unsafe { ffi::SSL_CTX_set1_tls13_ciphers(context, &suite, ptr::null(), 1) } != 1 {
                return Err(ErrorStack::get().into());
            }
        }
    }
    let groups: Vec<_> = row.groups().into_iter().map(group).collect();
    builder.set_curves_list(&groups.join(":"))?;
    builder.set_sigalgs_list(context::schemes(row))?;
    Ok(builder)
}

fn store(pem: &[u8]) -> Result<X509Store> {
    let mut store = X509StoreBuilder::new()?;
    for root in X509::stack_from_pem(pem)? {
        store.add_cert(&root)?;
    }
    Ok(store.build())
}

/// Does the same as `SSL_CTX_use_certificate_chain_file` and `SSL_CTX_use_PrivateKey_file`, but
/// from memory.
fn show(builder: &mut SslContextBuilder, kind: Chain, chain: &[u8], key: &[u8]) -> Result<()> {
    let mut chain = X509::stack_from_pem(chain)?.into_iter();
    if let Some(leaf) = chain.next() {
        builder.set_certificate(&leaf)?;
    }
    for issuer in chain {
        builder.add_extra_chain_cert(issuer)?;
    }
    let key = match kind {
        Chain::Ed25519 => ed25519_key(key)?,
        _ => PKey::private_key_from_pem(key)?,
    };
    Ok(builder.set_private_key(&key)?)
}

/// Removes the public key from an Ed25519 key file, because BoringSSL does not support that form.
/// RFC 8410 7
fn ed25519_key(pem: &[u8]) -> Result<PKey<Private>> {
    let text = std::str::from_utf8(pem)?;
    let inside: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let bytes = decode_block(&inside)?;
    let secret = bytes.get(ED25519_KEY.len()..ED25519_KEY.len() + 32);
    let secret = secret.ok_or_else(|| std::io::Error::other("too short for an Ed25519 key"))?;
    Ok(PKey::private_key_from_der(&[ED25519_KEY, secret].concat())?)
}

/// The prefix of the 32 key bytes in a file without public key.
const ED25519_KEY: &[u8] = &[
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// BoringSSL's name of a group.
fn group(group: Group) -> &'static str {
    match group {
        Group::Secp256r1 => "P-256",
        other => other.name(),
    }
}
