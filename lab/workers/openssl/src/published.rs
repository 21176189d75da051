//! How openssl-bench configures OpenSSL.
//!
//! Suite and version are pinned on both sides; groups, schemes and tickets are the library's own. The client is not
//! told to verify: the chain is built and checked all the same, its verdict only told.
//! Must not know: how connections are driven. Next: `memory.rs`.

use lab_scenario::{Files, Resumption, Row, Unable, Version};
use openssl::ssl::{
    SslContext, SslContextBuilder, SslFiletype, SslMethod, SslOptions, SslSessionCacheMode,
    SslVersion, cipher_name,
};

type Result<T> = std::result::Result<T, Unable>;

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = both(row)?;
    builder.load_verify_locations(Some(&files.root(row.chain)), None)?;
    // As if no sessions were kept: a ticket may then be used again.
    builder.set_session_cache_mode(SslSessionCacheMode::SERVER);
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = both(row)?;
    builder.set_certificate_chain_file(files.server_chain(row.chain))?;
    builder.set_private_key_file(files.server_key(row.chain), SslFiletype::PEM)?;
    Ok(builder.build())
}

fn both(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = SslContext::builder(SslMethod::tls())?;
    builder.set_options(SslOptions::NO_COMPRESSION | SslOptions::NO_RENEGOTIATION);
    let version = match row.version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    };
    builder.set_min_proto_version(Some(version))?;
    builder.set_max_proto_version(Some(version))?;
    match row.version {
        Version::Tls12 => builder.set_cipher_list(cipher_name(row.suite.name()))?,
        Version::Tls13 => builder.set_ciphersuites(row.suite.name())?,
    }
    if row.pins_groups() {
        builder.set_groups_list(row.group.name())?;
    }
    if let Some(resumption) = row.resumption {
        builder.set_session_cache_mode(SslSessionCacheMode::BOTH);
        builder.set_session_id_context(b"localhost")?;
        if resumption == Resumption::Stateful {
            builder.set_options(SslOptions::NO_TICKET);
        }
    }
    Ok(builder)
}
