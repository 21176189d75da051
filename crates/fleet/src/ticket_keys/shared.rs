//! Ticket keys in the store: one set for all nodes, replaced by any node when its time has come.
//!
//! A set has a current key, a next key and a previous key, and a number that grows with each
//! change. When the time of the next key has come, a node writes a new set: the next key becomes
//! the current one, and a new key is added, whose time is one period later. The node writes only if
//! the set that it has read is still there ("compare and set"), so if two nodes try, one succeeds
//! and the other reads the result. Every node has a whole period to read a key before it seals.
//!
//! - The set is sealed under the fleet secret together with its number. A set that cannot be
//!   opened is left unchanged and rejected: it may belong to another fleet, and the operator
//!   should notice. A set that opens under the previous secret is sealed again under the current
//!   one. A set that opens under the next secret is left unchanged, because nodes that are one
//!   step further in the rotation wrote it.
//! - A set with a smaller number than this node has seen is an old set that was restored. It is
//!   replaced. If two sets have the same number, as after a restore of the store, all nodes use the
//!   one with the larger digest.
//! - A set that disappeared is written again by any node that has it.
//! - A node without the store keeps its set. The next key begins to seal at its time. One period
//!   later the node stops sealing, since other nodes then have newer keys.

use std::sync::Arc;
use std::time::Duration;

use tercel::crypto::HashAlgorithm;
use tercel::pki_types::UnixTime;
use tercel::session::{TicketKey, TicketKeySet};
use tercel_crypto::Hash;
use tokio::sync::Mutex;
use tracing::{info, warn};
use zeroize::Zeroizing;

use super::FleetTicketSealer;
use crate::error::FleetError;
use crate::secrets::secret::FleetKey;
use crate::secrets::{FleetSecrets, SecretRole, SharedSecrets};
use crate::store::client::{Cmd, cmd};
use crate::store::{Caller, Store};

/// The ticket keys in the store, and the set that this node has read last.
pub(crate) struct StoreTicketKeys {
    store: Arc<Store>,
    name: String,
    secrets: Arc<SharedSecrets>,
    tickets: Arc<FleetTicketSealer>,
    period: u64,
    /// Locked while keys are refreshed, never in a handshake.
    known: Mutex<Option<KnownSet>>,
}

/// The set that is in use on this node.
struct KnownSet {
    number: u64,
    set: Zeroizing<Vec<u8>>,
    /// The value in the store.
    sealed: Vec<u8>,
    /// The role of the secret with which the value is sealed.
    role: SecretRole,
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
        let (name, period) = (format!("{prefix}ticket-keys"), period.as_secs());
        Self { store, name, secrets, tickets, period, known: Mutex::new(None) }
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
        let secrets = self.secrets.get();
        let get = Cmd::get(&self.name);
        let stored: Option<Vec<u8>> = self.store.run_command(Caller::Background, get).await?;
        let Some(sealed) = stored else {
            let first = match &known {
                Some(known) => known.resealed(&secrets)?,
                None => {
                    self.check_clock().await?;
                    seal(&secrets.current().ticket_keys, 1, &self.first(now)?.to_bytes())?
                }
            };
            self.replace(&[], &first).await?;
            return Ok(false);
        };
        let found = open(&secrets, &sealed)?;
        if let Some(own) = known.as_ref().filter(|own| own.supersedes(&found)) {
            warn!("store has older ticket keys; replacing them with the current ones");
            self.store.counters.ticket_keys_refused.add();
            self.replace(&sealed, &own.resealed(&secrets)?).await?;
            return Ok(false);
        }
        let own = self.take(known, found)?;
        if own.role == SecretRole::Previous {
            info!("sealing ticket keys under the new fleet secret");
            self.replace(&sealed, &own.resealed(&secrets)?).await?;
            return Ok(false);
        }
        if now < own.changes {
            return Ok(true);
        }
        self.check_clock().await?;
        let (number, set) = self.next_set(own, now)?;
        let next = seal(&secrets.current().ticket_keys, number, &set.to_bytes())?;
        self.replace(&sealed, &next).await?;
        Ok(false)
    }

    /// Refuses to generate keys if the clock of this node is wrong: the keys would begin to seal at
    /// a time that other nodes do not expect.
    async fn check_clock(&self) -> Result<(), FleetError> {
        let (store_time, _): (u64, u64) =
            self.store.run_command(Caller::Background, cmd("TIME")).await?;
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
        let set = TicketKeySet::from_bytes(&found.set).map_err(|_| FleetError::UnreadableKeys)?;
        if known.as_ref().is_none_or(|known| known.set != found.set) {
            let newest = set.next().unwrap_or(set.current()).not_before().as_secs();
            self.tickets.set(&set, newest.saturating_add(self.period));
            self.store.counters.ticket_keys_changed.add();
            info!(number = found.number, "ticket keys loaded from store");
        }
        Ok(known.insert(found))
    }

    /// The first set of a fleet. Its key begins to seal when all nodes have seen it.
    fn first(&self, now: u64) -> Result<TicketKeySet, FleetError> {
        let current = generate(now.saturating_add(PROPAGATION))?;
        let next = generate(now.saturating_add(PROPAGATION).saturating_add(self.period))?;
        TicketKeySet::new(current, Some(next), None).map_err(|_| FleetError::Random)
    }

    /// Makes the set that follows this set. Returns its number and the set. The new key begins to
    /// seal only when all nodes have read the new set, even if the time of the rotation is long
    /// past.
    fn next_set(&self, own: &KnownSet, now: u64) -> Result<(u64, TicketKeySet), FleetError> {
        let set = TicketKeySet::from_bytes(&own.set).map_err(|_| FleetError::UnreadableKeys)?;
        let begins = own.changes.saturating_add(self.period).max(now.saturating_add(PROPAGATION));
        let set = set.advance(generate(begins)?).map_err(|_| FleetError::Random)?;
        Ok((own.number.saturating_add(1), set))
    }

    /// Writes `new` if the store has `old`; an empty `old` stands for no value.
    async fn replace(&self, old: &[u8], new: &[u8]) -> Result<(), FleetError> {
        let mut command = cmd("EVAL");
        command.arg(COMPARE_AND_SET).arg(1).arg(&self.name).arg(old).arg(new);
        self.store.run_command::<i64>(Caller::Background, command).await.map(drop)
    }
}

impl KnownSet {
    /// Whether this set replaces `other`.
    fn supersedes(&self, other: &Self) -> bool {
        let rank = |known: &Self| {
            (known.number, Hash::digest(HashAlgorithm::Sha256, &[&known.set]).to_vec())
        };
        rank(self) > rank(other)
    }

    /// The value for the store, sealed under the current secret.
    fn resealed(&self, secrets: &FleetSecrets) -> Result<Vec<u8>, FleetError> {
        match open(secrets, &self.sealed) {
            Ok(Self { role: SecretRole::Current, sealed, .. }) => Ok(sealed),
            _ => seal(&secrets.current().ticket_keys, self.number, &self.set),
        }
    }
}

fn seal(seals: &FleetKey, number: u64, set: &[u8]) -> Result<Vec<u8>, FleetError> {
    let number = number.to_be_bytes();
    let content = seals.seal(&number, set).map_err(|_| FleetError::Random)?;
    Ok([&[VERSION], &number[..], &content].concat())
}

fn open(secrets: &FleetSecrets, sealed: &[u8]) -> Result<KnownSet, FleetError> {
    let found = secrets.find(|keys| open_under(&keys.ticket_keys, sealed));
    let (role, (number, set, changes)) = found.ok_or(FleetError::UnreadableKeys)?;
    Ok(KnownSet { number, set, sealed: sealed.to_vec(), role, changes })
}

/// The number, the set, and the time at which its next key begins to seal.
fn open_under(seals: &FleetKey, sealed: &[u8]) -> Option<(u64, Zeroizing<Vec<u8>>, u64)> {
    let (number, content) = sealed.strip_prefix(&[VERSION])?.split_first_chunk::<8>()?;
    let set = seals.open(number, content)?;
    let keys = TicketKeySet::from_bytes(&set).ok()?;
    // Sets in the store always have a next key.
    let changes = keys.next()?.not_before().as_secs();
    Some((u64::from_be_bytes(*number), set, changes))
}

/// Sealing and opening of any content, for fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
pub(crate) mod any {
    use tercel::session::TicketKeySet;

    use super::{open_under, seal};
    use crate::secrets::TICKET_KEYS;
    use crate::secrets::secret::FleetSecret;

    /// Seals any content as a set of this number.
    pub(crate) fn seal_any(secret: &FleetSecret, number: u64, set: &[u8]) -> Option<Vec<u8>> {
        seal(&secret.key(TICKET_KEYS), number, set).ok()
    }

    /// Opens a sealed set: its number and its keys.
    pub(crate) fn open_any(secret: &FleetSecret, sealed: &[u8]) -> Option<(u64, TicketKeySet)> {
        let (number, set, _) = open_under(&secret.key(TICKET_KEYS), sealed)?;
        Some((number, TicketKeySet::from_bytes(&set).ok()?))
    }
}

fn generate(begins: u64) -> Result<TicketKey, FleetError> {
    let begins = UnixTime::since_unix_epoch(Duration::from_secs(begins));
    TicketKey::generate(begins).map_err(|_| FleetError::Random)
}

/// Compares and sets in one atomic step.
pub(crate) const COMPARE_AND_SET: &str = "if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0";

/// The version of the stored format: this byte, the number of the set in 8 bytes, the sealed set.
const VERSION: u8 = 1;

/// The time in seconds after which every node has read a new key, so that the key may seal.
const PROPAGATION: u64 = 3;

/// The largest difference in seconds between the clocks of node and store at which a node generates
/// keys: short compared to the lifetime of a key.
const CLOCK_DIFFERENCE: u64 = 30;

/// The maximum number of attempts. An attempt fails only because another node was faster.
const ATTEMPTS: usize = 8;
