//! What contexts of OpenSSL and BoringSSL have in common, in either accounting.
//!
//! Shared with the worker for BoringSSL, by `crate::library`. Must not know: suites and groups, which the two libraries
//! set in ways of their own. Next: `configuration.rs`, `published.rs`.

use lab_scenario::{Files, Resumption, Row, Scheme, Unable, Version};

use crate::library::ssl::{
    SslContext, SslContextBuilder, SslFiletype, SslMethod, SslOptions, SslSessionCacheMode,
    SslVersion,
};

type Result<T> = std::result::Result<T, Unable>;

/// A context for the row's version alone.
pub(crate) fn of_version(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = SslContext::builder(SslMethod::tls())?;
    let version = match row.version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    };
    builder.set_min_proto_version(Some(version))?;
    builder.set_max_proto_version(Some(version))?;
    Ok(builder)
}

/// The schemes that the row is held to, in the libraries' names.
pub(crate) fn schemes(row: &Row) -> &'static str {
    match row.chain.scheme() {
        // The second is that of the certificates.
        Scheme::RsaPssRsaeSha256 => "rsa_pss_rsae_sha256:rsa_pkcs1_sha256",
        scheme => scheme.name(),
    }
}

/// As [`of_version`], with what openssl-bench sets besides.
pub(crate) fn as_published(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = of_version(row)?;
    builder.set_options(SslOptions::NO_COMPRESSION | SslOptions::NO_RENEGOTIATION);
    if let Some(resumption) = row.resumption {
        builder.set_session_cache_mode(SslSessionCacheMode::BOTH);
        builder.set_session_id_context(b"localhost")?;
        if resumption == Resumption::Stateful {
            builder.set_options(SslOptions::NO_TICKET);
        }
    }
    Ok(builder)
}

/// A server's context that shows the row's chain, as openssl-bench reads it.
pub(crate) fn published_server(
    mut builder: SslContextBuilder,
    row: &Row,
    files: &Files,
) -> Result<SslContext> {
    builder.set_certificate_chain_file(files.server_chain(row.chain))?;
    builder.set_private_key_file(files.server_key(row.chain), SslFiletype::PEM)?;
    Ok(builder.build())
}
