//! Tickets that several processes open, under keys that come from outside.
//!
//! A shared key seals nothing itself: each process draws a salt, seals under a subkey derived from both, and
//! sends the salt along, so that processes which know nothing of each other never use one nonce twice under
//! one key. Must not know: how keys travel between machines. Next: `keys.rs`, what travels;
//! `subkeys.rs`, derived keys kept for opening.

pub(crate) mod keys;
mod subkeys;

use core::fmt;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use pki_types::UnixTime;
use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, HashAlgorithm, Prk, Secret, fill_random};

use self::keys::{NAME, TicketKey, TicketKeySet};
use self::subkeys::OpeningSubkeys;
use super::sealing::{self, NONCE, SealingKey};
use super::swap::Swap;
use super::{MAX_LIFETIME, TicketSealer};

/// Seals and opens under a [`TicketKeySet`], which can be replaced at any time.
///
/// The newest key whose time has come seals. A key opens from the moment it is in the set, and for one
/// lifetime after the key that follows it began, so a key should be handed out before its time comes and
/// stay in the sets for a lifetime after it was followed.
///
/// After a fork the child draws a salt of its own; a fork is noticed by the process id. What keeps the id is not: a
/// machine's snapshot started twice, or a first process of a container that forks into another.
pub struct SharedTickets {
    state: Swap<State>,
    lifetime: u32,
    limit: u64,
}

impl SharedTickets {
    /// Starts with `keys`. Tickets live for `lifetime`, or for seven days if that is less.
    #[must_use]
    pub fn new(keys: &TicketKeySet, lifetime: Duration) -> Self {
        Self::with_limit(keys, lifetime, sealing::SEALS)
    }

    fn with_limit(keys: &TicketKeySet, lifetime: Duration, limit: u64) -> Self {
        let lifetime = u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX).min(MAX_LIFETIME);
        Self { state: Swap::new(State::new(keys)), lifetime, limit }
    }

    /// Replaces the keys. Handshakes under way are not disturbed; tickets under keys that are not in the
    /// new set open no more.
    pub fn set_keys(&self, keys: &TicketKeySet) {
        self.state.set(State::new(keys));
    }

    /// Since when the key that seals now has been sealing, by the keys' own word: for those who watch that keys are
    /// replaced. `None` if no key's time has come.
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
                // Whoever comes second goes on with the winner's subkey, or with new keys set meanwhile.
                self.state.replace(&state, fresh);
                continue;
            };
            // `None` if other threads took the last nonces just now.
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
        if !sealing::may_be_sealed(sealed) {
            return None;
        }
        let state = self.state.load();
        let key = state.keys.to_open(id, self.lifetime, now)?;
        if let Some(subkey) = state.keys.opening.find(id) {
            return sealing::open(&subkey, FORMAT, sealed);
        }
        let subkey = key.derive(id).ok()?;
        let session = sealing::open(&subkey, FORMAT, sealed)?;
        // Only now: a salt that anyone can make up must not push out one that is in use.
        state.keys.opening.keep(id, subkey);
        Some(session)
    }

    fn lifetime(&self) -> u32 {
        self.lifetime
    }
}

impl fmt::Debug for SharedTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTickets").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

/// The keys, and the subkey that this process seals under once it has sealed.
struct State {
    keys: Arc<Keys>,
    subkey: Option<Subkey>,
}

impl State {
    fn new(set: &TicketKeySet) -> Self {
        let newest_first = set.newest_first().map(SharedKey::new).collect();
        let opening = OpeningSubkeys::new(OPENING);
        Self { keys: Arc::new(Keys { newest_first, opening }), subkey: None }
    }
}

/// One set of keys, with the subkeys derived from it: replaced and forgotten together.
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
                // What it sealed last is a lifetime old then.
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

/// A shared key, ready for derivations.
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

    /// The subkey of a salt. Every sharer must come to the same, so the algorithm is not left to the processor.
    fn derive(&self, id: &Id) -> Result<AeadKey, CryptoError> {
        let secret = self.prk.expand_secret(&[SUBKEY, id], 32);
        AeadKey::new(AeadAlgorithm::Aes256Gcm, secret.as_bytes())
    }
}

/// What this process seals under.
struct Subkey {
    id: Id,
    not_before: UnixTime,
    sealing: SealingKey,
}

impl Subkey {
    fn draw(key: &SharedKey, process: u32, limit: u64) -> Result<Self, CryptoError> {
        let drawn = Secret::try_with(SALT + NONCE, fill_random)?;
        let mut id = [0; ID];
        let mut start = [0; NONCE];
        let parts = key.name.iter().chain(drawn.as_bytes());
        id.iter_mut().chain(&mut start).zip(parts).for_each(|(to, from)| *to = *from);
        let sealing = SealingKey::new(key.derive(&id)?, start, process, limit);
        Ok(Self { id, not_before: key.not_before, sealing })
    }

    /// Whether this process may seal, in place of `key`. A caller a little behind goes on with the newer
    /// key that another has begun: all sharers open that already, and the two would take turns at
    /// drawing salts otherwise.
    fn may_seal(&self, key: &SharedKey, process: u32) -> bool {
        self.not_before >= key.not_before && self.sealing.may_seal(process)
    }
}

/// The clear start of a ticket, which names its subkey: the key's name and the salt.
type Id = [u8; ID];

const SALT: usize = 16;
const ID: usize = NAME + SALT;

/// Bound to each ticket, with the version of the layout.
const FORMAT: &[u8] = b"tercel shared ticket 1";

/// Bound to each subkey, before the key's name and the salt.
const SUBKEY: &[u8] = b"tercel ticket subkey 1";

/// Subkeys kept for opening, 0.6 KB each: one for each process of a fleet and each key in use.
const OPENING: usize = 1024;

/// Two for each time that others come first: with an older key, with a newer one, with new keys.
const ATTEMPTS: usize = 8;

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;
