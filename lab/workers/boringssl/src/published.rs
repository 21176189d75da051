//! Configuration of BoringSSL as in openssl-bench.
//!
//! Suite and version are pinned on both sides; groups, schemes and tickets are the library's
//! defaults. The client does not require a valid chain: the chain is built and verified, but the
//! result is only recorded.

use boring::error::ErrorStack;
use boring::ssl::{SslContext, SslContextBuilder};
use boring_sys as ffi;
use lab_scenario::{Files, PrepareError, Row, Suite, Version};

use crate::{context, session};

/// The latest version of the program sets these groups, which are the defaults of other libraries.
const DEFAULT_GROUPS: &str = "X25519MLKEM768:X25519:P-256:P-384";

type Result<T> = std::result::Result<T, PrepareError>;

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = base_context(row)?;
    builder.load_verify_locations(Some(&files.root(row.chain)), None)?;
    if row.resumption.is_some() {
        session::store_received(&mut builder);
    }
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    context::published_server(base_context(row)?, row, files)
}

fn base_context(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = context::as_published(row)?;
    match row.suite {
        // This policy prefers the suite. The program has no other way to select it.
        Suite::Aes256GcmSha384 => {
            let policy = ffi::ssl_compliance_policy_t::ssl_compliance_policy_cnsa_202407;
            // SAFETY: the context is valid.
            if unsafe { ffi::SSL_CTX_set_compliance_policy(builder.as_ptr(), policy) } != 1 {
                return Err(ErrorStack::get().into());
            }
        }
        suite if row.version == Version::Tls12 => builder.set_strict_cipher_list(suite.name())?,
        suite => return Err(PrepareError::unsupported(suite.name())),
    }
    builder.set_curves_list(if row.pins_groups() { "X25519" } else { DEFAULT_GROUPS })?;
    Ok(builder)
}
