//! The fleet secrets of a node. The current secret encrypts, and every secret can decrypt.
//!
//! Names of early data entries do not depend on a secret, so nodes with different secrets never
//! admit one ClientHello twice.

pub(crate) mod files;
pub(crate) mod secret;

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use self::secret::{FleetKey, FleetSecret};
use crate::error::FleetError;
use crate::settings::StoreSettings;

/// The fleet secrets of a node, read from the files that its settings name. Cheap to clone.
///
/// A secret is rotated in three steps. Each step is taken on every node, in any order and at any
/// pace, before the next step begins on any node. No node has to restart
/// ([`Fleet::use_secrets`](crate::Fleet::use_secrets)):
///
/// 1. Set the new secret as the *next* one: all nodes can now decrypt data encrypted with it.
/// 2. Set the new secret as the current one, and the old secret as the *previous* one.
/// 3. Remove the previous secret once all data encrypted with it has expired (sessions: a day
///    unless configured otherwise; ticket keys and keys of ECH: a few seconds).
///
/// No session is lost. Without the first step, nodes that do not have the new secret yet cannot
/// resume the sessions that other nodes have encrypted with it.
///
/// If the secret or the keys may have been stolen, set the new secret without the old one on every
/// node, and then delete the keys from the store, which no node can decrypt any more. Nodes do not
/// write keys again that were encrypted with a secret which they no longer have.
#[derive(Clone)]
pub struct FleetSecrets(Arc<SecretSet>);

struct SecretSet {
    current: SecretKeys,
    previous: Option<SecretKeys>,
    next: Option<SecretKeys>,
}

/// The role of a secret: current, next or previous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretRole {
    Current,
    Previous,
    Next,
}

/// The keys derived from one secret.
pub(crate) struct SecretKeys {
    pub(crate) session_names: FleetKey,
    pub(crate) sessions: FleetKey,
    pub(crate) ticket_keys: FleetKey,
    pub(crate) ech_keys: FleetKey,
    pub(crate) secret_check: FleetKey,
}

impl FleetSecrets {
    /// Reads the secrets from their files.
    ///
    /// # Errors
    /// If a file is missing, exposed to other users or too short.
    pub fn read(settings: &StoreSettings, fleet: &str) -> Result<Self, FleetError> {
        let keys = |path: &Path| Ok(SecretKeys::of(&FleetSecret::read(path, fleet)?));
        let optional = |path: &Option<_>| path.as_deref().map(keys).transpose();
        Ok(Self(Arc::new(SecretSet {
            current: keys(&settings.secret_file)?,
            previous: optional(&settings.previous_secret_file)?,
            next: optional(&settings.next_secret_file)?,
        })))
    }

    #[cfg(test)]
    pub(crate) fn new(
        current: &FleetSecret,
        previous: Option<&FleetSecret>,
        next: Option<&FleetSecret>,
    ) -> Self {
        let (previous, next) = (previous.map(SecretKeys::of), next.map(SecretKeys::of));
        Self(Arc::new(SecretSet { current: SecretKeys::of(current), previous, next }))
    }

    /// The keys of the secret that encrypts new data.
    pub(crate) fn current(&self) -> &SecretKeys {
        &self.0.current
    }

    /// The keys of all secrets. The keys of the current secret are first.
    pub(crate) fn all(&self) -> impl Iterator<Item = (SecretRole, &SecretKeys)> {
        let SecretSet { current, previous, next } = &*self.0;
        let previous = previous.iter().map(|keys| (SecretRole::Previous, keys));
        let next = next.iter().map(|keys| (SecretRole::Next, keys));
        std::iter::once((SecretRole::Current, current)).chain(previous).chain(next)
    }

    /// The first successful result of `open`, and the role of the secret with which it succeeded.
    pub(crate) fn find<T>(
        &self,
        open: impl Fn(&SecretKeys) -> Option<T>,
    ) -> Option<(SecretRole, T)> {
        self.all().find_map(|(role, keys)| Some((role, open(keys)?)))
    }
}

impl SecretKeys {
    fn of(secret: &FleetSecret) -> Self {
        Self {
            session_names: secret.key("session names 1"),
            sessions: secret.key("sessions 1"),
            ticket_keys: secret.key(TICKET_KEYS),
            ech_keys: secret.key("ech keys 1"),
            secret_check: secret.key("mark 1"),
        }
    }
}

impl std::fmt::Debug for FleetSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetSecrets").finish_non_exhaustive()
    }
}

/// The fleet secrets in use. Handshakes read them without a lock; a reload replaces them.
pub(crate) struct SharedSecrets(ArcSwap<SecretSet>);

impl SharedSecrets {
    pub(crate) fn new(secrets: FleetSecrets) -> Arc<Self> {
        Arc::new(Self(ArcSwap::new(secrets.0)))
    }

    pub(crate) fn get(&self) -> FleetSecrets {
        FleetSecrets(self.0.load_full())
    }

    pub(crate) fn set(&self, secrets: FleetSecrets) {
        self.0.store(secrets.0);
    }
}

/// The purpose of the key that seals ticket keys.
pub(crate) const TICKET_KEYS: &str = "ticket keys 1";
