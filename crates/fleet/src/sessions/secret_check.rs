//! A check that all nodes of a fleet have the same secret, by a sealed entry in the store.
//!
//! It is needed only in fleets that share sessions: a node with another secret would find no
//! sessions, and no error would be reported.

use std::sync::Arc;

use crate::error::FleetError;
use crate::secrets::{SecretRole, SharedSecrets};
use crate::store::client::{Cmd, cmd};
use crate::store::{Caller, Store};

/// The sealed entry of a fleet, and the secrets of this node.
pub(crate) struct SecretCheck {
    store: Arc<Store>,
    name: String,
    secrets: Arc<SharedSecrets>,
}

impl SecretCheck {
    pub(crate) fn new(store: Arc<Store>, prefix: &str, secrets: Arc<SharedSecrets>) -> Self {
        Self { store, name: format!("{prefix}mark"), secrets }
    }

    /// Reads the entry. A missing entry is written; an entry that was sealed with the previous
    /// secret is replaced by one sealed with the current secret.
    ///
    /// # Errors
    /// [`FleetError::SecretMismatch`] if the entry was sealed with none of the secrets of this
    /// node. The entry is left unchanged.
    pub(crate) async fn run(&self) -> Result<(), FleetError> {
        let secrets = self.secrets.get();
        let get = Cmd::get(&self.name);
        let stored: Option<Vec<u8>> = self.store.run_command(Caller::Background, get).await?;
        let found = stored.map(|sealed| {
            secrets.find(|keys| keys.secret_check.open(self.name.as_bytes(), &sealed).map(drop))
        });
        let condition: &[&str] = match found {
            Some(None) => return Err(FleetError::SecretMismatch),
            Some(Some((SecretRole::Current, ()))) => {
                // The entry expires when no node with this secret renews it any more.
                let renew = Cmd::pexpire(&self.name, LIFETIME_MS);
                return self.store.run_command::<i64>(Caller::Background, renew).await.map(drop);
            }
            // Nodes that are one step further in the rotation renew the entry.
            Some(Some((SecretRole::Next, ()))) => return Ok(()),
            // Only an existing entry is replaced. Several nodes with the same secrets may do this,
            // in any order.
            Some(Some((SecretRole::Previous, ()))) => &["XX"],
            None => &["NX"],
        };
        let seal = secrets.current().secret_check.seal(self.name.as_bytes(), b"");
        let mut set = cmd("SET");
        set.arg(&self.name).arg(seal.map_err(|_| FleetError::Random)?);
        set.arg("PX").arg(LIFETIME_MS).arg(condition);
        self.store.run_command::<Option<String>>(Caller::Background, set).await.map(drop)
    }
}

/// Milliseconds after which the entry expires if no node renews it.
const LIFETIME_MS: i64 = 600_000;
