//! Configuration of OpenSSL as in openssl-bench.
//!
//! Suite and version are pinned on both sides; groups, schemes and tickets are the library's
//! defaults. The client does not require a valid chain: the chain is built and verified, but the
//! result is only recorded.

use lab_scenario::{Files, PrepareError, Row, Version};
use openssl::ssl::{SslContext, SslContextBuilder, SslSessionCacheMode, cipher_name};

use crate::context;

type Result<T> = std::result::Result<T, PrepareError>;

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = base_context(row)?;
    builder.load_verify_locations(Some(&files.root(row.chain)), None)?;
    // With this cache mode a client may use a ticket more than once.
    builder.set_session_cache_mode(SslSessionCacheMode::SERVER);
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    context::published_server(base_context(row)?, row, files)
}

fn base_context(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = context::as_published(row)?;
    match row.version {
        Version::Tls12 => builder.set_cipher_list(cipher_name(row.suite.name()))?,
        Version::Tls13 => builder.set_ciphersuites(row.suite.name())?,
    }
    if row.pins_groups() {
        builder.set_groups_list(row.group.name())?;
    }
    Ok(builder)
}
