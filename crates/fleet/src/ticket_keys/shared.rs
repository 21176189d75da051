//! Ticket keys in the store: one set for all nodes, replaced by any node when its time has come.
//!
//! A set has a current key, a next key and a previous key. When the time of the next key has come,
//! a node writes a new set: the next key becomes the current one, and a new key is added, whose
//! time is one period later. Every node has a whole period to read a key before it seals.
//! [`sealed_set`](crate::sealed_set) describes how nodes agree on one set.
//!
//! A node without the store keeps its set. The next key begins to seal at its time. One period
//! later the node stops sealing, since other nodes then have newer keys.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::session::{TicketKey, TicketKeySet};
use tokio::sync::Mutex;
use tracing::{info, warn};

use super::FleetTicketSealer;
use crate::error::FleetError;
use crate::sealed_set::{ATTEMPTS, Compared, PROPAGATION, SealedSet, StoredSet};
use crate::secrets::SharedSecrets;
use crate::store::client::cmd;
use crate::store::{Caller, Store};

/// The ticket keys in the store, and the set that this node has read last.
pub(crate) struct StoreTicketKeys {
    stored: StoredSet,
    tickets: Arc<FleetTicketSealer>,
    period: u64,
    /// Locked while keys are refreshed, never in a handshake.
    known: Mutex<Option<KnownSet>>,
}

/// The set that is in use on this node.
struct KnownSet {
    set: SealedSet,
    /// The time at which the next key begins to seal.
    changes: u64,
}

impl StoreTicketKeys {
    pub(crate) fn new(
        store: Arc<Store>,
        prefix: &str,
        secrets: Arc<SharedSecrets>,
        tickets: Arc<FleetTicketSealer>,
        period: Duration,
    ) -> Self {
        let name = format!("{prefix}ticket-keys");
        let stored = StoredSet::new(store, name, secrets, |keys| &keys.ticket_keys);
        Self { stored, tickets, period: period.as_secs(), known: Mutex::new(None) }
    }

    /// Synchronises this node with the store, and rotates the keys if their time has come.
    ///
    /// # Errors
    /// If the store is unavailable or its set is rejected. The previous keys stay in use.
    pub(crate) async fn refresh(&self, now: UnixTime) -> Result<(), FleetError> {
        let mut known = self.known.lock().await;
        // If another node made a change meanwhile, another attempt is needed.
        for _ in 0..ATTEMPTS {
            if self.sync_once(&mut known, now.as_secs()).await? {
                return Ok(());
            }
        }
        Err(FleetError::StoreUnavailable)
    }

    /// Makes one read and at most one write. Returns whether the node and the store are in sync.
    async fn sync_once(&self, known: &mut Option<KnownSet>, now: u64) -> Result<bool, FleetError> {
        let compared = self.stored.compare(known.as_ref().map(|known| &known.set)).await?;
        let found = match compared {
            Compared::Missing => {
                self.check_clock().await?;
                self.stored.write(None, &self.first(now)?.to_bytes()).await?;
                return Ok(false);
            }
            Compared::Restored => return Ok(false),
            Compared::Replaced => {
                warn!("store has older ticket keys; replacing them with the current ones");
                self.stored.store.counters.ticket_keys_refused.add();
                return Ok(false);
            }
            Compared::Found(set) => KnownSet::new(set)?,
        };
        let own = self.take(known, found)?;
        if self.stored.renew(&own.set).await? {
            info!("encrypting ticket keys with the new fleet secret");
            return Ok(false);
        }
        if now < own.changes {
            return Ok(true);
        }
        self.check_clock().await?;
        let next = self.next_set(own, now)?;
        self.stored.write(Some(&own.set), &next.to_bytes()).await?;
        Ok(false)
    }

    /// Refuses to generate keys if the clock of this node is wrong: the keys would begin to seal at
    /// a time that other nodes do not expect.
    async fn check_clock(&self) -> Result<(), FleetError> {
        let (store_time, _): (u64, u64) =
            self.stored.store.run_command(Caller::Background, cmd("TIME")).await?;
        if UnixTime::now().as_secs().abs_diff(store_time) > CLOCK_DIFFERENCE {
            return Err(FleetError::Setting(
                "ticket_keys",
                "clocks of store and node differ too much",
            ));
        }
        Ok(())
    }

    /// Uses this set from now on.
    fn take<'a>(
        &self,
        known: &'a mut Option<KnownSet>,
        found: KnownSet,
    ) -> Result<&'a KnownSet, FleetError> {
        let set = found.keys()?;
        if known.as_ref().is_none_or(|known| known.set.content != found.set.content) {
            let newest = set.next().unwrap_or(set.current()).not_before().as_secs();
            self.tickets.set(&set, newest.saturating_add(self.period));
            self.stored.store.counters.ticket_keys_changed.add();
            info!(number = found.set.number, "ticket keys loaded from store");
        }
        Ok(known.insert(found))
    }

    /// The first set of a fleet. Its key begins to seal when all nodes have seen it.
    fn first(&self, now: u64) -> Result<TicketKeySet, FleetError> {
        let current = generate(now.saturating_add(PROPAGATION))?;
        let next = generate(now.saturating_add(PROPAGATION).saturating_add(self.period))?;
        TicketKeySet::new(current, Some(next), None).map_err(|_| FleetError::Random)
    }

    /// Makes the set that follows this set. The new key begins to seal only when all nodes have
    /// read the new set, even if the time of the rotation is long past.
    fn next_set(&self, own: &KnownSet, now: u64) -> Result<TicketKeySet, FleetError> {
        let begins = own.changes.saturating_add(self.period).max(now.saturating_add(PROPAGATION));
        own.keys()?.advance(generate(begins)?).map_err(|_| FleetError::Random)
    }
}

impl KnownSet {
    fn new(set: SealedSet) -> Result<Self, FleetError> {
        let changes = changes_at(&set.content).ok_or(FleetError::UnreadableKeys)?;
        Ok(Self { set, changes })
    }

    fn keys(&self) -> Result<TicketKeySet, FleetError> {
        TicketKeySet::from_bytes(&self.set.content).map_err(|_| FleetError::UnreadableKeys)
    }
}

/// The time at which the next key of a set begins to seal. Sets in the store always have a next
/// key.
fn changes_at(content: &[u8]) -> Option<u64> {
    Some(TicketKeySet::from_bytes(content).ok()?.next()?.not_before().as_secs())
}

/// Sealing and opening of any content, for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
pub(crate) mod any {
    use tercel::session::TicketKeySet;

    use super::changes_at;
    use crate::sealed_set::{open, seal};
    use crate::secrets::TICKET_KEYS;
    use crate::secrets::secret::FleetSecret;

    /// Seals any content as a set of this number.
    pub(crate) fn seal_any(secret: &FleetSecret, number: u64, set: &[u8]) -> Option<Vec<u8>> {
        seal(&secret.key(TICKET_KEYS), number, set).ok()
    }

    /// Opens a sealed set: its number and its keys.
    pub(crate) fn open_any(secret: &FleetSecret, sealed: &[u8]) -> Option<(u64, TicketKeySet)> {
        let (number, set) = open(&secret.key(TICKET_KEYS), sealed)?;
        changes_at(&set)?;
        Some((number, TicketKeySet::from_bytes(&set).ok()?))
    }
}

fn generate(begins: u64) -> Result<TicketKey, FleetError> {
    let begins = UnixTime::since_unix_epoch(Duration::from_secs(begins));
    TicketKey::generate(begins).map_err(|_| FleetError::Random)
}

/// The largest difference in seconds between the clocks of node and store at which a node generates
/// keys: short compared to the lifetime of a key.
const CLOCK_DIFFERENCE: u64 = 30;
