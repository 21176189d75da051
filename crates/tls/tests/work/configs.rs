//! Configurations with short or long lists of credentials, application protocols and keys.

use std::sync::{Arc, LazyLock, Mutex};

use tercel::crypto::{HashAlgorithm, SigningKey};
use tercel::pki_types::CertificateDer;
use tercel::{
    Credential, ServerConfig, certificates::Credentials, psk::PreSharedKey,
    server::ServerConfigBuilder,
};

use crate::fixtures::{Kind, leaf};

/// A number of credentials with P-256 keys, none of which has the requested name.
pub(crate) fn credentials(count: usize) -> Vec<Credential> {
    static SHARED: LazyLock<(Vec<CertificateDer<'static>>, Arc<SigningKey>)> =
        LazyLock::new(|| {
            let (chain, key) = leaf(Kind::P256, &["other.example"]);
            (chain, Arc::new(SigningKey::from_der(&key).unwrap()))
        });
    let (chain, key) = &*SHARED;
    let one = |_| Credential::with_signer(chain.clone(), key.clone()).unwrap();
    (0..count).map(one).collect()
}

/// The same credentials as a set, which is built once.
pub(crate) fn credential_set(count: usize, for_named_issuers: bool) -> Arc<Credentials> {
    type Made = (usize, bool, Arc<Credentials>);
    static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap();
    let same = |each: &&Made| (each.0, each.1) == (count, for_named_issuers);
    if let Some((.., set)) = made.iter().find(same) {
        return Arc::clone(set);
    }
    let mut all = credentials(count);
    if for_named_issuers {
        all = all.into_iter().map(Credential::must_match_issuer).collect();
    }
    let set = Arc::new(Credentials::new(all));
    made.push((count, for_named_issuers, Arc::clone(&set)));
    set
}

/// A server with a number of credentials, and enough protocols to be looked up in a map.
pub(crate) fn server(scale: usize) -> ServerConfigBuilder {
    let protocols: Vec<_> = (0..scale + 5).map(|number| format!("protocol {number}")).collect();
    let credentials = credential_set(scale, false);
    let server = ServerConfig::builder().alpn(&protocols).ignore_unknown_alpn(true);
    server.replaceable_credentials(credentials)
}

/// The configuration of `server`, with credentials that require a named issuer.
pub(crate) fn server_for_named_issuers(scale: usize) -> ServerConfigBuilder {
    ServerConfig::builder().replaceable_credentials(credential_set(scale, true))
}

/// A server with a number of external pre-shared keys. There are at most five ticket keys in any
/// case.
pub(crate) fn server_with_keys(scale: usize) -> ServerConfigBuilder {
    let key = |number| {
        let name = format!("key {number}");
        PreSharedKey::external(name.as_bytes(), &[7; 32], HashAlgorithm::Sha256).unwrap()
    };
    server(scale).pre_shared_keys((0..scale).map(key))
}
