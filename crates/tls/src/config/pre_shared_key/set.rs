//! The ready-made answer to which key a client means: a set in memory.
//!
//! Must not know: handshakes. Next: `config/policy.rs` for an answer of one's own.

use core::fmt;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::PreSharedKey;
use super::request::PreSharedKeyRequest;
use crate::config::policy::FindPreSharedKey;

/// A server's pre-shared keys, which can be replaced while connections are being made.
///
/// The first key in the client's order that goes with the suite we like best wins; if none does, the first
/// that goes with another suite in common. Sessions of keys that are gone are not resumed, also where another
/// key has the identity now.
pub struct PreSharedKeys {
    current: ArcSwap<Keys>,
}

#[derive(Default)]
struct Keys {
    by_identity: HashMap<Vec<u8>, Arc<PreSharedKey>>,
    fingerprints: HashSet<[u8; 32]>,
}

impl PreSharedKeys {
    /// A set. Of two keys with one identity the later counts.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = PreSharedKey>) -> Self {
        Self { current: ArcSwap::from_pointee(Keys::of(keys)) }
    }

    /// Replaces all keys. Handshakes under way go on with the key they have.
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

impl fmt::Debug for PreSharedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.current.load().by_identity.len();
        f.debug_struct("PreSharedKeys").field("keys", &keys).finish_non_exhaustive()
    }
}
