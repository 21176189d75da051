//! The session context of a route. Routes with equal contexts resume each other's sessions.

use std::path::Path;

use tercel::crypto::HashAlgorithm;
use tercel_crypto::Hash;

use crate::config::{CertificateSource, Route};

/// The value that sessions of a route are bound to, in addition to the certificate. It identifies
/// the backends: all routes share ticket keys, but a session of one route must not lead a client
/// to the backends of another.
///
/// The value is derived from the text of the configuration, so that nodes with equal configurations
/// resume each other's sessions.
pub(super) fn session_context(route: &Route) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    if let Some(context) = &route.session_context {
        parts.push(b"session_context".to_vec());
        parts.push(context.clone().into_bytes());
        let mut names = route.names.clone();
        names.sort_unstable();
        parts.extend(names.into_iter().map(String::into_bytes));
    } else {
        parts.push(b"certificates and backends".to_vec());
        let path = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        match &route.certificates {
            Some(CertificateSource::Folder(folder)) => parts.extend([path(folder), Vec::new()]),
            Some(CertificateSource::Pair { certificate, key }) => {
                parts.extend([path(certificate), path(key)]);
            }
            None => {}
        }
        let mut backends: Vec<_> = route.to.iter().map(ToString::to_string).collect();
        backends.sort_unstable();
        backends.dedup();
        parts.extend(backends.into_iter().map(String::into_bytes));
    }
    // Length prefixes keep the concatenation unambiguous.
    let mut bytes = Vec::new();
    for part in &parts {
        bytes.extend_from_slice(&part.len().to_be_bytes());
        bytes.extend_from_slice(part);
    }
    Hash::digest(HashAlgorithm::Sha256, &[&bytes]).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The session context of the only route of a listener with these settings.
    fn context(settings: &str) -> Vec<u8> {
        let text = format!("[[listener]]\naddress = \"127.0.0.1:0\"\n{settings}");
        let config = Config::parse("f.toml", &text).unwrap();
        let [listener] = config.listeners.as_slice() else { panic!("{settings}") };
        let [route] = listener.routes.as_slice() else { panic!("{settings}") };
        session_context(route)
    }

    #[test]
    fn routes_with_different_certificates_or_backends_have_different_contexts() {
        let route = |names: &str| {
            let settings = "certificates = '/a'\nto = '127.0.0.1:1'";
            format!("session_context = 'x'\n[[listener.route]]\nnames = {names}\n{settings}")
        };
        let different = [
            "certificates = '/a'\nto = '127.0.0.1:1'",
            "certificates = '/b'\nto = '127.0.0.1:1'",
            "certificate = '/a'\nkey = '/a'\nto = '127.0.0.1:1'",
            "certificate = '/a'\nkey = '/b'\nto = '127.0.0.1:1'",
            "certificate = '/a/'\nkey = 'b'\nto = '127.0.0.1:1'",
            "certificates = '/a'\nto = '127.0.0.1:11'",
            "certificates = '/a'\nto = ['127.0.0.1:1', '127.0.0.1:11']",
            "certificates = '/a'\nto = 'a.example:1'",
            "certificates = '/a'\nto = 'unix:/a'",
            "certificates = '/a'\nto = '127.0.0.1:1'\nsession_context = 'x'",
            "certificates = '/a'\nto = '127.0.0.1:1'\nsession_context = 'xy'",
            &route("'y'"),
            &route("['y', 'z']"),
            &route("'yz'"),
        ];
        let contexts: std::collections::BTreeSet<_> = different.into_iter().map(context).collect();
        assert_eq!(contexts.len(), different.len());
    }

    #[test]
    fn context_ignores_the_order_of_backends_and_names() {
        let settings = "certificates = '/a'\nto = ['127.0.0.1:1', '127.0.0.1:2']";
        let reordered = "certificates = '/a'\nto = ['127.0.0.1:2', '127.0.0.1:1']\nalpn = ['h2']";
        assert_eq!(context(settings), context(reordered));
        let named = |names: &str, settings: &str| {
            let route = format!("[[listener.route]]\nnames = {names}\n{settings}");
            [context(&route), context(&format!("session_context = 'x'\n{route}"))]
        };
        assert_eq!(named("['y', 'z']", settings), named("['Z', 'y']", reordered));
        assert_eq!(named("'y'", settings)[0], context(settings));
    }
}
