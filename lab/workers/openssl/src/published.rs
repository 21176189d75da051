//! How openssl-bench configures OpenSSL.
//!
//! Suite and version are pinned on both sides; groups, schemes and tickets are the library's own. The client is not
//! told to verify: the chain is built and checked all the same, its verdict only told.
//! Must not know: how connections are driven. Next: `memory.rs`.

use lab_scenario::{Files, Row, Unable, Version};
use openssl::ssl::{SslContext, SslContextBuilder, SslSessionCacheMode, cipher_name};

use crate::context;

type Result<T> = std::result::Result<T, Unable>;

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = both(row)?;
    builder.load_verify_locations(Some(&files.root(row.chain)), None)?;
    // As if no sessions were kept: a ticket may then be used again.
    builder.set_session_cache_mode(SslSessionCacheMode::SERVER);
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    context::published_server(both(row)?, row, files)
}

fn both(row: &Row) -> Result<SslContextBuilder> {
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
