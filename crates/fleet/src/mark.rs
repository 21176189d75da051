//! A mark in the store by which a node knows whether its secret is that of the others.
//!
//! For fleets that share sessions only: who has another secret would find none, and nobody would be told. Must not know:
//! what is written under the secret. Next: [`crate::keeper`], which looks; [`crate::secrets`].

use std::sync::Arc;

use crate::error::FleetError;
use crate::secrets::{Age, SecretCell};
use crate::store::{Store, Waits};

/// The mark of a fleet.
pub(crate) struct Mark {
    store: Arc<Store>,
    name: String,
    secrets: Arc<SecretCell>,
}

impl Mark {
    pub(crate) fn new(store: Arc<Store>, prefix: &str, secrets: Arc<SecretCell>) -> Self {
        Self { store, name: format!("{prefix}mark"), secrets }
    }

    /// Reads the mark. One that is gone is put there; one of the previous secret follows to the current one.
    ///
    /// # Errors
    /// [`FleetError::ForeignSecret`] if it is of none of our secrets; it is left alone.
    pub(crate) async fn look(&self) -> Result<(), FleetError> {
        let secrets = self.secrets.get();
        let mut get = redis::cmd("GET");
        get.arg(&self.name);
        let there: Option<Vec<u8>> = self.store.ask(Waits::Nobody, get).await?;
        let found = there.map(|sealed| {
            secrets.find(|keys| keys.mark.open(self.name.as_bytes(), &sealed).map(drop))
        });
        let words: &[&str] = match found {
            Some(None) => return Err(FleetError::ForeignSecret),
            Some(Some((Age::Current, ()))) => {
                // It goes by itself when nobody with this secret is left.
                let mut stay = redis::cmd("PEXPIRE");
                stay.arg(&self.name).arg(LIFE);
                return self.store.ask::<i64>(Waits::Nobody, stay).await.map(drop);
            }
            // Who is further on keeps it.
            Some(Some((Age::Next, ()))) => return Ok(()),
            // In the place of what is there: of two nodes with one secret either may be the last.
            Some(Some((Age::Previous, ()))) => &["XX"],
            None => &["NX"],
        };
        let seal = secrets.current().mark.seal(self.name.as_bytes(), b"");
        let mut set = redis::cmd("SET");
        set.arg(&self.name).arg(seal.map_err(|_| FleetError::Random)?);
        set.arg("PX").arg(LIFE).arg(words);
        self.store.ask::<Option<String>>(Waits::Nobody, set).await.map(drop)
    }
}

/// Milliseconds for which it stays if nobody looks.
const LIFE: u64 = 600_000;
