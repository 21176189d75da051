//! Contexts of OpenSSL and BoringSSL: common settings in both accountings. Shared with the worker
//! for BoringSSL through `crate::library`.

use lab_scenario::{Files, PrepareError, Resumption, Row, Scheme, Version};

use crate::library::ssl::{
    SslContext, SslContextBuilder, SslFiletype, SslMethod, SslOptions, SslSessionCacheMode,
    SslVersion,
};

type Result<T> = std::result::Result<T, PrepareError>;

/// A context limited to the row's version.
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

/// The pinned schemes, in the libraries' names.
pub(crate) fn schemes(row: &Row) -> &'static str {
    match row.chain.scheme() {
        // The second scheme is that of the certificates.
        Scheme::RsaPssRsaeSha256 => "rsa_pss_rsae_sha256:rsa_pkcs1_sha256",
        scheme => scheme.name(),
    }
}

/// Does the same as [`of_version`], with the additional settings of openssl-bench.
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

/// A server context with the row's chain, loaded as in openssl-bench.
pub(crate) fn published_server(
    mut builder: SslContextBuilder,
    row: &Row,
    files: &Files,
) -> Result<SslContext> {
    builder.set_certificate_chain_file(files.server_chain(row.chain))?;
    builder.set_private_key_file(files.server_key(row.chain), SslFiletype::PEM)?;
    Ok(builder.build())
}
