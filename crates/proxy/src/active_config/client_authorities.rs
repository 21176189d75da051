//! The authorities of a route's clients.

use std::path::Path;

use tercel::pki::{PemContents, PemUse, Roots};
use tercel::server::ClientAuth;

use crate::config::{ConfigError, Route};

/// The maximum number of certificates that are named in warnings about one file.
const MAX_WARNINGS: usize = 3;

/// Reads the authorities of a route's clients, if it requests certificates. Certificates in the
/// file that are not authorities' are added to `warnings`, and what it contains to `contents`.
pub(super) fn load(
    route: &Route,
    warnings: &mut Vec<ConfigError>,
    contents: &mut Vec<String>,
) -> Result<Option<Roots>, ConfigError> {
    let (true, Some(file)) = (route.client_auth != ClientAuth::None, &route.client_ca) else {
        return Ok(None);
    };
    let error_for = |reason: &str| error(route, file, reason);
    let pem = std::fs::read(file).map_err(|error| error_for(&error.to_string()))?;
    let mut roots = Roots::new();
    roots.add_pem(&pem).map_err(|error| error_for(&error.to_string()))?;
    let described = PemContents::new(&pem).describe(PemUse::Certificates);
    contents.push(format!("{}: {described}", file.display()));
    let others = roots.not_anchors();
    warnings.extend(others.iter().take(MAX_WARNINGS).map(|other| error_for(&other.to_string())));
    if let Some(more @ 1..) = others.len().checked_sub(MAX_WARNINGS) {
        warnings.push(error_for(&format!("{more} more certificates are not authorities'")));
    }
    Ok(Some(roots))
}

/// What is wrong if the names of the authorities do not fit into a CertificateRequest.
pub(super) fn too_many(route: &Route) -> Option<ConfigError> {
    let reason = "the names of the authorities exceed 63 KiB, so that none is sent to clients, and \
                  each client chooses a certificate without them";
    route.client_ca.as_deref().map(|file| error(route, file, reason))
}

fn error(route: &Route, file: &Path, reason: &str) -> ConfigError {
    route.location.error("client_ca", format!("{}: {reason}", file.display()))
}
