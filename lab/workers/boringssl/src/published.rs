//! How openssl-bench configures BoringSSL.
//!
//! Suite and version are pinned on both sides; groups, schemes and tickets are the library's own. The client is not
//! told to verify: the chain is built and checked all the same, its verdict only told.
//! Must not know: how connections are driven. Next: `memory.rs`.

use boring::error::ErrorStack;
use boring::ssl::{SslContext, SslContextBuilder};
use boring_sys as ffi;
use lab_scenario::{Files, Row, Suite, Unable, Version};

use crate::{context, session};

/// In its latest version the program sets what became the default of other libraries.
const DEFAULT_GROUPS: &str = "X25519MLKEM768:X25519:P-256:P-384";

type Result<T> = std::result::Result<T, Unable>;

pub(crate) fn client(row: &Row, files: &Files) -> Result<SslContext> {
    let mut builder = both(row)?;
    builder.load_verify_locations(Some(&files.root(row.chain)), None)?;
    if row.resumption.is_some() {
        session::keep_arriving(&mut builder);
    }
    Ok(builder.build())
}

pub(crate) fn server(row: &Row, files: &Files) -> Result<SslContext> {
    context::published_server(both(row)?, row, files)
}

fn both(row: &Row) -> Result<SslContextBuilder> {
    let mut builder = context::as_published(row)?;
    match row.suite {
        // Preferred under this policy; the program has no other way to choose it.
        Suite::Aes256GcmSha384 => {
            let policy = ffi::ssl_compliance_policy_t::ssl_compliance_policy_cnsa_202407;
            // SAFETY: the context is ours.
            if unsafe { ffi::SSL_CTX_set_compliance_policy(builder.as_ptr(), policy) } != 1 {
                return Err(ErrorStack::get().into());
            }
        }
        suite if row.version == Version::Tls12 => builder.set_strict_cipher_list(suite.name())?,
        suite => return Err(Unable::cannot(suite.name())),
    }
    builder.set_curves_list(if row.pins_groups() { "X25519" } else { DEFAULT_GROUPS })?;
    Ok(builder)
}
