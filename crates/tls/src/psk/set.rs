//! A pre-shared key store in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::PreSharedKey;
use super::request::{FindPreSharedKey, PreSharedKeyRequest};

/// A server's external pre-shared keys in memory, which can be replaced at any time.
///
/// A key with the hash of the most preferred common suite is selected before a key with the hash of
/// another common suite. Among keys with the same hash, the first in the client's order is
/// selected. Sessions of removed keys are not resumed, even if another key has the same identity
/// now.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use tercel::psk::{PreSharedKey, PreSharedKeys};
/// use tercel::{Policy, ServerConfig, crypto::HashAlgorithm};
///
/// let key = |identity| PreSharedKey::external(identity, &[7; 32], HashAlgorithm::Sha256);
/// let keys = Arc::new(PreSharedKeys::new([key(b"sensor 17")?]));
/// let find = Policy::Here(Arc::clone(&keys) as _);
/// let config = ServerConfig::builder().find_pre_shared_key(find).build()?;
/// // Later, while the server runs:
/// keys.replace([key(b"sensor 17")?, key(b"sensor 18")?]);
/// # let _ = config; Ok(()) }
/// ```
pub struct PreSharedKeys {
    current: ArcSwap<Keys>,
}

#[derive(Default)]
struct Keys {
    by_identity: HashMap<Vec<u8>, Arc<PreSharedKey>>,
    fingerprints: HashSet<[u8; 32]>,
}

impl PreSharedKeys {
    /// Creates a store with these keys. If two keys have the same identity, the later one is used.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        Self { current: ArcSwap::from_pointee(Keys::of(keys)) }
    }

    /// Replaces all keys. Handshakes in progress keep the key that they selected.
    pub fn replace(&self, keys: impl IntoIterator<Item = PreSharedKey>) {
        self.current.store(Arc::new(Keys::of(keys)));
    }
}

impl Keys {
    fn of(keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        let mut all = Self::default();
        for key in keys {
            all.by_identity.insert(key.identity().to_vec(), Arc::new(key));
        }
        all.fingerprints = all.by_identity.values().map(|key| key.fingerprint()).collect();
        all
    }
}

impl FindPreSharedKey for PreSharedKeys {
    fn find_pre_shared_key(&self, request: &PreSharedKeyRequest<'_>) -> Option<Arc<PreSharedKey>> {
        let keys = self.current.load();
        let first_with = |hash| {
            let known = |identity| keys.by_identity.get(identity);
            request.identities().filter_map(known).find(|key| key.hash() == hash)
        };
        request.hashes.iter().find_map(|hash| first_with(*hash)).map(Arc::clone)
    }

    fn knows(&self, _: &[u8], fingerprint: &[u8; 32]) -> bool {
        self.current.load().fingerprints.contains(fingerprint)
    }
}

debug_fields!(PreSharedKeys, set: keys = set.current.load().by_identity.len());
