//! The embedded test certificate authority: a root, an intermediate and leaves, generated when the
//! server starts.
//!
//! The private key of the root is then dropped, so that no certificate can be issued later. Clients
//! that trust the root trust the user who runs the server, so the authority is for tests only.

#[cfg(feature = "test-authority")]
mod issue;

use std::path::PathBuf;

#[cfg(feature = "test-authority")]
pub(crate) use issue::make;

/// The files for clients.
#[derive(Debug)]
pub(crate) struct Authority {
    /// The directory of the files.
    pub(crate) folder: PathBuf,
    /// The root's certificate.
    pub(crate) ca: PathBuf,
    /// A client certificate, issued by the root.
    pub(crate) client_certificate: PathBuf,
    /// The private key of the client, readable by its owner only.
    pub(crate) client_key: PathBuf,
}

/// Returns the error for a build without the authority.
#[cfg(not(feature = "test-authority"))]
pub(crate) fn make(
    _: Option<&std::path::Path>,
    _: std::net::IpAddr,
    _: &[String],
) -> anyhow::Result<(Authority, Vec<tercel::Credential>)> {
    let message = "tercel was built without the test authority (feature test-authority): give \
                   --cert and --key, --raw-key or --psk";
    Err(crate::explain::UsageError::new(message).into())
}
