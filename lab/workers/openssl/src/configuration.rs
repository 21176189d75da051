//! Configuration of OpenSSL for a row.

use std::fs;

use lab_scenario::{Files, Group, PrepareError, Resumption, Row, Version};
use openssl::pkey::PKey;
use openssl::ssl::{
    SslContext, SslContextBuilder, SslOptions, SslSessionCacheMode, SslVerifyMode, cipher_name,
};
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::{X509, X509Name};

use crate::{context, session};

/// The early data limit of tickets, in bytes.
const MAX_EARLY_DATA: u32 = 16 << 10;

type Result<T> = std::result::Result<T, PrepareError>;

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
        show(&mut builder, &fs::read(files.client_chain(chain))?, &key)?;
    }
    match row.version {
        // In TLS 1.2 sessions are requested after the handshake.
        Version::Tls12 => {
            builder.set_session_cache_mode(SslSessionCacheMode::OFF);
            if row.resumption != Some(Resumption::Stateless) {
                builder.set_options(SslOptions::NO_TICKET);
            }
        }
        Version::Tls13 => {
            builder.set_session_cache_mode(
                SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL,
            );
            session::store_received(&mut builder);
        }
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
    show(&mut builder, chain, key)?;
    if let Some(chain) = row.client_chain {
        builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        builder.set_cert_store(store(&fs::read(files.root(chain))?)?);
        builder.set_client_ca_list(X509Name::load_client_ca_file(files.root(chain))?);
    }
    builder.set_session_id_context(b"lab")?;
    builder.set_num_tickets(row.tickets.into())?;
    builder.set_session_cache_mode(match row.resumption {
        Some(Resumption::Stateful) => SslSessionCacheMode::SERVER,
        _ => SslSessionCacheMode::OFF,
    });
    if row.resumption != Some(Resumption::Stateless) {
        builder.set_options(SslOptions::NO_TICKET);
    }
    session::count_issued(&mut builder)?;
    if row.early_data > 0 {
        builder.set_max_early_data(MAX_EARLY_DATA)?;
    }
    Ok(builder.build())
}

fn store(pem: &[u8]) -> Result<X509Store> {
    let mut store = X509StoreBuilder::new()?;
    for root in X509::stack_from_pem(pem)? {
        store.add_cert(root)?;
    }
    Ok(store.build())
}

/// Does the same as SSL_CTX_use_certificate_chain_file(3) and SSL_CTX_use_PrivateKey_file(3), but
/// from memory.
fn show(builder: &mut SslContextBuilder, chain: &[u8], key: &[u8]) -> Result<()> {
    let mut chain = X509::stack_from_pem(chain)?.into_iter();
    if let Some(leaf) = chain.next() {
        builder.set_certificate(&leaf)?;
    }
    for issuer in chain {
        builder.add_extra_chain_cert(issuer)?;
    }
    Ok(builder.set_private_key(&*PKey::private_key_from_pem(key)?)?)
}

fn base_context(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = context::of_version(row)?;
    match row.version {
        Version::Tls12 => builder.set_cipher_list(cipher_name(row.suite.name()))?,
        Version::Tls13 => builder.set_ciphersuites(row.suite.name())?,
    }
    let groups: Vec<_> = row.groups().into_iter().map(Group::name).collect();
    builder.set_groups_list(&groups.join(":"))?;
    builder.set_sigalgs_list(context::schemes(row))?;
    Ok(builder)
}
