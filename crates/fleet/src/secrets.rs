//! The secrets of a fleet while one follows another: all of them read, one of them writes.
//!
//! Nothing by which early data is admitted is named under a secret, so nodes with different ones never admit one hello
//! twice. Must not know: the store. Next: [`crate::secret`], what one secret does; [`crate::sessions`],
//! [`crate::ticket_keys`], which are written under it.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::error::FleetError;
use crate::secret::{FleetKey, FleetSecret};
use crate::settings::StoreSettings;

/// The secrets that a node has, read from the files that its settings name. Cheap to clone.
///
/// One secret follows another in three steps. Each is taken on every node, in any order and at any pace, before the
/// next step begins on any; no node has to restart ([`Fleet::use_secrets`](crate::Fleet::use_secrets)):
///
/// 1. The new one is the *next* one: everywhere what is written under it can be read from now on.
/// 2. The new one is the secret, and the old one the *previous* one.
/// 3. When nothing of what was written under the old one lives any more (sessions a day unless set otherwise, ticket keys a
///    few seconds), there is no previous one.
///
/// No session is lost by that. Who leaves out the first step loses those that nodes with the new secret write
/// for nodes without it, and no more than that.
#[derive(Clone)]
pub struct FleetSecrets(Arc<Known>);

struct Known {
    current: SecretKeys,
    previous: Option<SecretKeys>,
    next: Option<SecretKeys>,
}

/// Which of the secrets it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Current,
    Previous,
    Next,
}

/// What is made of one secret.
pub(crate) struct SecretKeys {
    pub(crate) session_names: FleetKey,
    pub(crate) sessions: FleetKey,
    pub(crate) ticket_keys: FleetKey,
    pub(crate) mark: FleetKey,
}

impl FleetSecrets {
    /// Reads the files.
    ///
    /// # Errors
    /// If one is missing, open to others or too short.
    pub fn read(settings: &StoreSettings, fleet: &str) -> Result<Self, FleetError> {
        let keys = |path: &Path| Ok(SecretKeys::of(&FleetSecret::read(path, fleet)?));
        let known = |path: &Option<_>| path.as_deref().map(keys).transpose();
        Ok(Self(Arc::new(Known {
            current: keys(&settings.secret_file)?,
            previous: known(&settings.previous_secret_file)?,
            next: known(&settings.next_secret_file)?,
        })))
    }

    #[cfg(test)]
    pub(crate) fn new(
        current: &FleetSecret,
        previous: Option<&FleetSecret>,
        next: Option<&FleetSecret>,
    ) -> Self {
        let (previous, next) = (previous.map(SecretKeys::of), next.map(SecretKeys::of));
        Self(Arc::new(Known { current: SecretKeys::of(current), previous, next }))
    }

    /// The one that writes.
    pub(crate) fn current(&self) -> &SecretKeys {
        &self.0.current
    }

    /// All of them, the one that writes first.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Age, &SecretKeys)> {
        let Known { current, previous, next } = &*self.0;
        let previous = previous.iter().map(|keys| (Age::Previous, keys));
        let next = next.iter().map(|keys| (Age::Next, keys));
        std::iter::once((Age::Current, current)).chain(previous).chain(next)
    }

    /// What `open` finds first, and under which of them.
    pub(crate) fn find<T>(&self, open: impl Fn(&SecretKeys) -> Option<T>) -> Option<(Age, T)> {
        self.all().find_map(|(age, keys)| Some((age, open(keys)?)))
    }
}

impl SecretKeys {
    fn of(secret: &FleetSecret) -> Self {
        Self {
            session_names: secret.key("session names 1"),
            sessions: secret.key("sessions 1"),
            ticket_keys: secret.key(TICKET_KEYS),
            mark: secret.key("mark 1"),
        }
    }
}

impl std::fmt::Debug for FleetSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetSecrets").finish_non_exhaustive()
    }
}

/// Where a node keeps them: read in handshakes without a lock, replaced when an operator says so.
pub(crate) struct SecretCell(ArcSwap<Known>);

impl SecretCell {
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

/// What the key of the fleet is for under which sets of ticket keys are sealed.
pub(crate) const TICKET_KEYS: &str = "ticket keys 1";
