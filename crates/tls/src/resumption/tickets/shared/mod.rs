//! Tickets under keys that several processes share, and that the application provides.
//!
//! A shared key itself does not seal tickets. Each process generates a random salt, seals tickets
//! under a subkey derived from the shared key and the salt, and includes the salt in the ticket.
//! Therefore the limit of tickets under one key holds for each process, although processes do not
//! coordinate.

pub(crate) mod keys;
mod subkeys;

use std::process;
use std::sync::Arc;
use std::time::Duration;

use pki_types::UnixTime;
use tercel_crypto::{AeadAlgorithm, CryptoError, HashAlgorithm, Prk, RandomNonceKey, fill_random};

use super::sealing::{SealingKey, TicketAead};
use super::swap::Swap;
use super::{TicketSealer, sealing};
use crate::record::limits;
use keys::{NAME, TicketKey, TicketKeySet};
use subkeys::OpeningSubkeys;

/// A ticket sealer with the keys of a [`TicketKeySet`], which can be replaced at any time.
///
/// The newest key whose `not_before` has passed seals tickets. A key opens tickets as soon as it is
/// in the set, and for one lifetime after the following key's `not_before`. Therefore a key should
/// be distributed before its `not_before`, and remain in the set for one lifetime after the
/// following key has replaced it.
///
/// After a fork, the child process generates its own salt. A fork is detected by a change of the
/// process ID. A child that keeps the ID, such as the first process of another container, uses the
/// same salt. Nonces do not repeat in this case either, because they are random.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tercel::pki_types::UnixTime;
/// use tercel::session::{SharedTickets, TicketKey, TicketKeySet};
///
/// let keys = TicketKeySet::new(TicketKey::generate(UnixTime::now())?, None, None)?;
/// let tickets = SharedTickets::new(&keys, Duration::from_secs(6 * 3600));
/// let bytes = keys.to_bytes(); // secret, for the other processes
/// tickets.set_keys(&TicketKeySet::from_bytes(&bytes)?);
/// # Ok(()) }
/// ```
pub struct SharedTickets {
    state: Swap<State>,
    lifetime: u32,
    limit: u64,
}

impl SharedTickets {
    /// Creates a sealer with these keys. Its tickets have the given lifetime, which is at most
    /// seven days.
    #[must_use]
    pub fn new(keys: &TicketKeySet, lifetime: Duration) -> Self {
        Self::with_limit(keys, lifetime, sealing::MAX_SEALS)
    }

    fn with_limit(keys: &TicketKeySet, lifetime: Duration, limit: u64) -> Self {
        let lifetime = limits::ticket_lifetime(lifetime);
        Self { state: Swap::new(State::new(keys)), lifetime, limit }
    }

    /// Replaces the keys. Handshakes in progress are not affected. Tickets under keys that are not
    /// in the new set are no longer accepted.
    pub fn set_keys(&self, keys: &TicketKeySet) {
        self.state.set(State::new(keys));
    }

    /// Returns the `not_before` of the key that seals tickets now, for monitoring of key rotation.
    /// `None` if the `not_before` of no key has passed.
    #[must_use]
    pub fn seals_since(&self, now: UnixTime) -> Option<UnixTime> {
        self.state.load().keys.to_seal(now).map(|key| key.not_before)
    }

    fn seal_in(&self, process: u32, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        if !sealing::fits(&[0; ID], session) {
            return None;
        }
        for _ in 0..ATTEMPTS {
            let state = self.state.load();
            let key = state.keys.to_seal(now)?;
            let subkey = state.subkey.as_ref().filter(|subkey| subkey.may_seal(key, process));
            let Some(subkey) = subkey else {
                let subkey = Some(Subkey::draw(key, process, self.limit).ok()?);
                let fresh = State { keys: Arc::clone(&state.keys), subkey };
                // If another thread has replaced the state first, the subkey or the keys of that
                // thread are used.
                self.state.replace(&state, fresh);
                continue;
            };
            // The result is `None` if other threads have sealed the last tickets since the check.
            if let Some(ticket) = subkey.sealing.seal(&subkey.id, FORMAT, session) {
                return Some(ticket);
            }
        }
        None
    }
}

impl TicketSealer for SharedTickets {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.seal_in(process::id(), session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let (id, sealed) = ticket.split_first_chunk::<ID>()?;
        if !sealing::has_valid_length(sealed) {
            return None;
        }
        let state = self.state.load();
        let key = state.keys.to_open(id, self.lifetime, now)?;
        if let Some(subkey) = state.keys.opening.find(id) {
            return subkey.open(FORMAT, sealed);
        }
        let subkey = key.derive(id).ok()?;
        let session = subkey.open(FORMAT, sealed)?;
        // The subkey is cached only after the ticket was opened, so that invented salts cannot
        // evict subkeys in use.
        state.keys.opening.insert(id, subkey);
        Some(session)
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(self.lifetime.into())
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}

debug_fields!(SharedTickets: lifetime);

/// The keys, and the subkey with which this process seals tickets. The subkey is generated on first
/// use.
struct State {
    keys: Arc<Keys>,
    subkey: Option<Subkey>,
}

impl State {
    fn new(set: &TicketKeySet) -> Self {
        let newest_first = set.newest_first().map(SharedKey::new).collect();
        let opening = OpeningSubkeys::new(MAX_CACHED_SUBKEYS);
        Self { keys: Arc::new(Keys { newest_first, opening }), subkey: None }
    }
}

/// A set of keys and the subkeys derived from them, which are replaced together.
struct Keys {
    newest_first: Vec<SharedKey>,
    opening: OpeningSubkeys,
}

impl Keys {
    fn to_seal(&self, now: UnixTime) -> Option<&SharedKey> {
        self.newest_first.iter().find(|key| key.not_before <= now)
    }

    fn to_open(&self, id: &Id, lifetime: u32, now: UnixTime) -> Option<&SharedKey> {
        let mut followed = None;
        for key in &self.newest_first {
            if id.starts_with(&key.name) {
                // At `end`, the last tickets of the key are one lifetime old.
                let end = followed.map_or(u64::MAX, |by: UnixTime| {
                    by.as_secs().saturating_add(u64::from(lifetime))
                });
                return (now.as_secs() < end).then_some(key);
            }
            followed = Some(key.not_before);
        }
        None
    }
}

/// A shared key, prepared for derivations.
struct SharedKey {
    name: [u8; NAME],
    prk: Prk,
    not_before: UnixTime,
}

impl SharedKey {
    fn new(key: &TicketKey) -> Self {
        let prk = Prk::from_bytes(HashAlgorithm::Sha256, key.secret());
        Self { name: *key.name(), prk, not_before: key.not_before() }
    }

    /// Derives the subkey for a salt. The AEAD algorithm does not depend on the processor, because
    /// all processes have to use the same one.
    fn derive(&self, id: &Id) -> Result<TicketAead, CryptoError> {
        let secret = self.prk.expand_secret(&[SUBKEY, id], 32);
        TicketAead::new(AeadAlgorithm::Aes256Gcm, secret.as_bytes())
    }
}

/// The subkey with which this process seals tickets.
struct Subkey {
    id: Id,
    not_before: UnixTime,
    sealing: SealingKey,
}

impl Subkey {
    fn draw(key: &SharedKey, process: u32, limit: u64) -> Result<Self, CryptoError> {
        let mut salt = [0; SALT];
        fill_random(&mut salt)?;
        let mut id = [0; ID];
        id.iter_mut().zip(key.name.iter().chain(&salt)).for_each(|(to, from)| *to = *from);
        let sealing = SealingKey::new(key.derive(&id)?, process, limit);
        Ok(Self { id, not_before: key.not_before, sealing })
    }

    /// Whether this process may seal tickets with this subkey, which must belong to `key` or to a
    /// newer key. If another thread has read a slightly later time, it may already have changed to
    /// a newer key, whose tickets all processes accept. If this thread did not use the newer subkey
    /// too, the two threads would replace each other's subkeys.
    fn may_seal(&self, key: &SharedKey, process: u32) -> bool {
        self.not_before >= key.not_before && self.sealing.may_seal(process)
    }
}

/// The plaintext at the beginning of a ticket, which identifies the subkey: the key's name and the
/// salt.
type Id = [u8; ID];

const SALT: usize = 16;
const ID: usize = NAME + SALT;

/// Identifies the layout of tickets and its version. It is authenticated with each ticket, so that
/// processes with and without the FIPS module do not accept each other's tickets.
const FORMAT: &[u8] =
    if RandomNonceKey::IS_REQUIRED { b"tercel shared ticket 2" } else { b"tercel shared ticket 1" };

/// The HKDF label of subkeys, which precedes the key's name and the salt.
const SUBKEY: &[u8] = b"tercel ticket subkey 1";

/// The number of cached subkeys for opening tickets, 0.6 KB each: one for each process of a fleet
/// and each key in use.
const MAX_CACHED_SUBKEYS: usize = 1024;

/// The number of attempts to seal a ticket. With a new subkey, sealing takes two attempts: one
/// installs the subkey, the other uses it. The rest is for threads that change the state first: to
/// a subkey of an older key, to a subkey of a newer key, or to new keys.
const ATTEMPTS: usize = 8;

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;
