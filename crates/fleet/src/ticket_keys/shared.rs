//! Ticket keys in the store: one set for all nodes, replaced by whichever node comes first.
//!
//! The set has a current key, the next one and the previous one, and a number that grows with each change. A node that
//! finds the next key's time come puts a new set there, in which that is the current key and a new one follows a
//! period later; it does so only if the set it knows is still there ("compare and set"), so of two nodes one succeeds,
//! and the other reads. Every node has had a whole period to read a key before it seals.
//!
//! - The set is sealed under the fleet secret with its number. What does not open is left alone and refused: it
//!   may belong to another fleet, and who put it there should see it. One that opens under the previous secret is sealed
//!   anew under the current one; one that opens under the next secret was sealed by who is further on, and stays.
//! - A set with a smaller number than was seen here is an old one that came back, and is replaced by ours. Of two with
//!   one number, as a store that was restored can bring about, the one with the larger digest stays, for all nodes.
//! - A set that is gone is put there again by a node that has it.
//! - A node that cannot read goes on with what it has. The next key begins at its time; a period after that the node seals
//!   no more, as others have keys by then that it does not know.
//!
//! Must not know: tickets. Next: [`crate::keeper`], which calls [`StoreKeys::refresh`].

use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;
use tercel::crypto::{Hash, HashAlgorithm};
use tercel::pki_types::UnixTime;
use tercel::{TicketKey, TicketKeySet};
use tokio::sync::Mutex;
use tracing::{info, warn};
use zeroize::Zeroizing;

use super::FleetTickets;
use crate::counts::Counters;
use crate::error::FleetError;
use crate::secret::FleetKey;
use crate::secrets::{Age, FleetSecrets, SecretCell};
use crate::store::{Store, Waits};

/// The set in the store, and what is known of it here.
pub(crate) struct StoreKeys {
    store: Arc<Store>,
    name: String,
    secrets: Arc<SecretCell>,
    tickets: Arc<FleetTickets>,
    period: u64,
    /// Taken by who looks after the keys, never in a handshake.
    known: Mutex<Option<Known>>,
    counters: Arc<Counters>,
}

/// The set that is in use here.
struct Known {
    number: u64,
    set: Zeroizing<Vec<u8>>,
    /// As it lies in the store.
    sealed: Vec<u8>,
    /// The secret under which it does.
    age: Age,
    /// When the next key begins.
    changes: u64,
}

impl StoreKeys {
    pub(crate) fn new(
        store: Arc<Store>,
        prefix: &str,
        secrets: Arc<SecretCell>,
        tickets: Arc<FleetTickets>,
        period: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        let (name, period) = (format!("{prefix}ticket-keys"), period.as_secs());
        Self { store, name, secrets, tickets, period, known: Mutex::new(None), counters }
    }

    /// Brings this node and the store to one set, and replaces it if its time has come.
    ///
    /// # Errors
    /// If the store is away, or what is there is refused. The keys from before stay.
    pub(crate) async fn refresh(&self, now: UnixTime) -> Result<(), FleetError> {
        let mut known = self.known.lock().await;
        // Whoever changes the set first makes the others look again.
        for _ in 0..ATTEMPTS {
            if self.step(&mut known, now.as_secs()).await? {
                return Ok(());
            }
        }
        Err(FleetError::Away)
    }

    /// One look and at most one change; whether all is as it should be.
    async fn step(&self, known: &mut Option<Known>, now: u64) -> Result<bool, FleetError> {
        let secrets = self.secrets.get();
        let mut get = redis::cmd("GET");
        get.arg(&self.name);
        let there: Option<Vec<u8>> = self.store.ask(Waits::Nobody, get).await?;
        let Some(sealed) = there else {
            let first = match &known {
                Some(known) => known.sealed_under(&secrets)?,
                None => {
                    self.check_clock().await?;
                    seal(&secrets.current().ticket_keys, 1, &self.first(now)?.to_bytes())?
                }
            };
            self.replace(&[], &first).await?;
            return Ok(false);
        };
        let found = open(&secrets, &sealed)?;
        if let Some(ours) = known.as_ref().filter(|ours| ours.outdoes(&found)) {
            warn!("the store has ticket keys that are older than ours; ours are put there");
            self.counters.ticket_keys_refused.add();
            self.replace(&sealed, &ours.sealed_under(&secrets)?).await?;
            return Ok(false);
        }
        let ours = self.take(known, found)?;
        if ours.age == Age::Previous {
            info!("ticket keys are sealed anew under the fleet's new secret");
            self.replace(&sealed, &ours.sealed_under(&secrets)?).await?;
            return Ok(false);
        }
        if now < ours.changes {
            return Ok(true);
        }
        self.check_clock().await?;
        let (number, set) = self.following(ours, now)?;
        let next = seal(&secrets.current().ticket_keys, number, &set.to_bytes())?;
        self.replace(&sealed, &next).await?;
        Ok(false)
    }

    /// A node whose clock is wrong makes no keys: they would begin when no other node expects it.
    async fn check_clock(&self) -> Result<(), FleetError> {
        let (theirs, _): (u64, u64) = self.store.ask(Waits::Nobody, redis::cmd("TIME")).await?;
        if UnixTime::now().as_secs().abs_diff(theirs) > CLOCK_DIFFERENCE {
            return Err(FleetError::Setting(
                "ticket_keys",
                "the clocks of store and node differ by too much",
            ));
        }
        Ok(())
    }

    /// Uses this set from now on.
    fn take<'a>(
        &self,
        known: &'a mut Option<Known>,
        found: Known,
    ) -> Result<&'a Known, FleetError> {
        let set = TicketKeySet::from_bytes(&found.set).map_err(|_| FleetError::ForeignKeys)?;
        if known.as_ref().is_none_or(|known| known.set != found.set) {
            let newest = set.next().unwrap_or(set.current()).not_before().as_secs();
            self.tickets.set(&set, newest.saturating_add(self.period));
            self.counters.ticket_keys_changed.add();
            info!(number = found.number, "ticket keys taken over from the store");
        }
        Ok(known.insert(found))
    }

    /// The set of a fleet that has none: its key waits until all nodes have seen it.
    fn first(&self, now: u64) -> Result<TicketKeySet, FleetError> {
        let current = generate(now.saturating_add(SETTLING))?;
        let next = generate(now.saturating_add(SETTLING).saturating_add(self.period))?;
        TicketKeySet::new(current, Some(next), None).map_err(|_| FleetError::Random)
    }

    /// The set after this one. Also if its time is long past the new key waits until all have seen it.
    fn following(&self, ours: &Known, now: u64) -> Result<(u64, TicketKeySet), FleetError> {
        let set = TicketKeySet::from_bytes(&ours.set).map_err(|_| FleetError::ForeignKeys)?;
        let begins = ours.changes.saturating_add(self.period).max(now.saturating_add(SETTLING));
        let set = set.advance(generate(begins)?).map_err(|_| FleetError::Random)?;
        Ok((ours.number.saturating_add(1), set))
    }

    /// Puts `new` there if `old` is what is there; if nothing should be, `old` is empty.
    async fn replace(&self, old: &[u8], new: &[u8]) -> Result<(), FleetError> {
        self.store
            .ask::<i64>(Waits::Nobody, compare_and_set(&self.name, old, new))
            .await
            .map(|_| ())
    }
}

impl Known {
    /// Whether `other` has to make room for this set.
    fn outdoes(&self, other: &Self) -> bool {
        let rank = |known: &Self| {
            (known.number, Hash::digest(HashAlgorithm::Sha256, &[&known.set]).to_vec())
        };
        rank(self) > rank(other)
    }

    /// The bytes for the store under the secret that writes now: those from before if they are that.
    fn sealed_under(&self, secrets: &FleetSecrets) -> Result<Vec<u8>, FleetError> {
        match open(secrets, &self.sealed) {
            Ok(Self { age: Age::Current, sealed, .. }) => Ok(sealed),
            _ => seal(&secrets.current().ticket_keys, self.number, &self.set),
        }
    }
}

fn seal(seals: &FleetKey, number: u64, set: &[u8]) -> Result<Vec<u8>, FleetError> {
    let number = number.to_be_bytes();
    let content = seals.seal(&number, set).map_err(|_| FleetError::Random)?;
    Ok([&[VERSION], &number[..], &content].concat())
}

fn open(secrets: &FleetSecrets, sealed: &[u8]) -> Result<Known, FleetError> {
    let found = secrets.find(|keys| open_under(&keys.ticket_keys, sealed));
    let (age, (number, set, changes)) = found.ok_or(FleetError::ForeignKeys)?;
    Ok(Known { number, set, sealed: sealed.to_vec(), age, changes })
}

/// The number, the set, and when its next key begins.
fn open_under(seals: &FleetKey, sealed: &[u8]) -> Option<(u64, Zeroizing<Vec<u8>>, u64)> {
    let (number, content) = sealed.strip_prefix(&[VERSION])?.split_first_chunk::<8>()?;
    let set = seals.open(number, content)?;
    let keys = TicketKeySet::from_bytes(&set).ok()?;
    // A set that is not to be followed was not made here.
    let changes = keys.next()?.not_before().as_secs();
    Some((u64::from_be_bytes(*number), set, changes))
}

/// For fuzzing.
#[cfg(all(feature = "testing", debug_assertions))]
pub(crate) mod any {
    use tercel::TicketKeySet;

    use super::{open_under, seal};
    use crate::secret::FleetSecret;
    use crate::secrets::TICKET_KEYS;

    /// Seals anything at all as a set of this number.
    pub(crate) fn seal_any(secret: &FleetSecret, number: u64, set: &[u8]) -> Option<Vec<u8>> {
        seal(&secret.key(TICKET_KEYS), number, set).ok()
    }

    /// The number and the set in these bytes.
    pub(crate) fn open_any(secret: &FleetSecret, sealed: &[u8]) -> Option<(u64, TicketKeySet)> {
        let (number, set, _) = open_under(&secret.key(TICKET_KEYS), sealed)?;
        Some((number, TicketKeySet::from_bytes(&set).ok()?))
    }
}

fn generate(begins: u64) -> Result<TicketKey, FleetError> {
    let begins = UnixTime::since_unix_epoch(Duration::from_secs(begins));
    TicketKey::generate(begins).map_err(|_| FleetError::Random)
}

fn compare_and_set(name: &str, old: &[u8], new: &[u8]) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(COMPARE_AND_SET).arg(1).arg(name).arg(old).arg(new);
    command
}

/// One step for all who come at the same time.
pub(crate) const COMPARE_AND_SET: &str = "if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0";

/// The form of the bytes in the store: this, the set's number in 8 bytes, and the sealed set.
const VERSION: u8 = 1;

/// Seconds after which every node has looked, so that a new key may seal.
const SETTLING: u64 = 3;

/// Seconds by which a node's clock may differ from the store's for it to make keys: little, to the life of a key.
const CLOCK_DIFFERENCE: u64 = 30;

/// Looks in a row; each ends because another node was faster.
const ATTEMPTS: usize = 8;
