//! Sessions that all nodes find, in a store that learns nothing from them.
//!
//! An entry's key is a keyed digest of the session's id. Its value is sealed, bound to that key, and says itself when
//! it expires, so that a store cannot pass one session for another or keep one alive. What a store can do is to give
//! twice what was to be taken once.
//!
//! A session is written once, and only under a name that is free. A write that nobody waits for any more, because the store was
//! late, can still arrive when the session is to be forgotten already. So whoever finds nothing to forget leaves an empty entry,
//! a *tombstone*, under the name: the late write then finds the name taken. It stays for as long as a session can, and
//! taking a session leaves it alone. Tombstones are made only of ids that this fleet gave to clients which completed a
//! handshake, so they cannot outnumber sessions.
//! Must not know: what is in a session. Next: [`crate::secrets`], [`crate::store`]; [`crate::forgetting`].

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::{FindSessionQuestion, NewSession};

use crate::counts::Counters;
use crate::error::FleetError;
use crate::secrets::{SecretCell, SecretKeys};
use crate::store::{Store, Waits};

/// The sessions of a fleet.
pub(crate) struct Sessions {
    store: Arc<Store>,
    prefix: String,
    secrets: Arc<SecretCell>,
    counters: Arc<Counters>,
}

impl Sessions {
    pub(crate) fn new(
        store: Arc<Store>,
        prefix: &str,
        secrets: Arc<SecretCell>,
        counters: Arc<Counters>,
    ) -> Self {
        let prefix = format!("{prefix}session:");
        Self { store, prefix, secrets, counters }
    }

    /// The session of this id, if it is there; in any doubt none, which costs a full handshake.
    pub(crate) async fn find(&self, question: FindSessionQuestion) -> Option<Vec<u8>> {
        let found = self.look_up(question.identity(), question.is_single_use()).await;
        let counters = &self.counters;
        let count = if found.is_some() { &counters.hits } else { &counters.misses };
        count.add();
        found
    }

    pub(crate) async fn look_up(&self, id: &[u8], take: bool) -> Option<Vec<u8>> {
        // Ids that were not made by us cost the store nothing.
        if id.len() != ID {
            return None;
        }
        let secrets = self.secrets.get();
        // A session lies under one name, that of the secret which it was written under.
        let names: Vec<_> = secrets.all().map(|(_, keys)| self.name(keys, id)).collect();
        let mut commands = redis::pipe();
        for name in &names {
            if take {
                // Among all who ask one gets it. RFC 9846 8.1
                commands.cmd("EVAL").arg(TAKE).arg(1).arg(name);
            } else {
                commands.cmd("GET").arg(name);
            }
        }
        let lines = self.store.lines().ok()?;
        let sealed: Vec<Option<Vec<u8>>> =
            self.store.ask_all(Waits::Handshake, &lines, commands).await.ok()?;
        let mut found =
            secrets.all().zip(&names).zip(sealed).filter_map(|((keys, name), sealed)| {
                keys.1.sessions.open(name.as_bytes(), &sealed?)
            });
        let mut content = found.next()?;
        let expires = content.first_chunk().copied().map(u64::from_be_bytes)?;
        if UnixTime::now().as_secs() >= expires {
            return None;
        }
        content.drain(..EXPIRES);
        Some(mem::take(&mut *content))
    }

    /// Has the session of this id forgotten, wherever it is, also if it only arrives in the store later: whether it was there.
    ///
    /// # Errors
    /// If the store did not do it, and may have the session still or get it later.
    pub(crate) async fn forget(&self, id: &[u8; ID]) -> Result<bool, FleetError> {
        let secrets = self.secrets.get();
        let names: Vec<_> = secrets.all().map(|(_, keys)| self.name(keys, id)).collect();
        let lines = self.store.lines()?;
        let mut commands = redis::pipe();
        names.iter().for_each(|name| _ = commands.cmd("EVAL").arg(TAKE).arg(1).arg(name));
        let taken: Vec<Option<Vec<u8>>> =
            self.store.ask_all(Waits::Nobody, &lines, commands).await?;
        if taken.iter().flatten().any(|sealed| !sealed.is_empty()) {
            return Ok(true);
        }
        let mut commands = redis::pipe();
        let life = LONGEST_LIFE.as_millis().to_string();
        for name in &names {
            // In the place of what has arrived since.
            commands.cmd("SET").arg(name).arg(TOMBSTONE).arg("PX").arg(&life).ignore();
        }
        self.store.ask_all::<()>(Waits::Nobody, &lines, commands).await?;
        Ok(false)
    }

    /// Stores a session. If that fails, its client will not find it and makes a full handshake.
    pub(crate) async fn keep(&self, mut new: NewSession) {
        let stored = self.store(&new).await;
        tercel::crypto::wipe(&mut new.session);
        if stored.is_some() {
            self.counters.kept.add();
        }
    }

    async fn store(&self, new: &NewSession) -> Option<()> {
        let expires = new.expires.as_secs();
        let left = expires.checked_sub(UnixTime::now().as_secs()).filter(|left| *left > 0)?;
        if !self.store.is_there() || new.id.len() != ID {
            return None;
        }
        let secrets = self.secrets.get();
        let keys = secrets.current();
        let name = self.name(keys, &new.id);
        let room = new.session.len().saturating_add(EXPIRES);
        let mut content = zeroize::Zeroizing::new(Vec::with_capacity(room));
        content.extend_from_slice(&expires.to_be_bytes());
        content.extend_from_slice(&new.session);
        let sealed = keys.sessions.seal(name.as_bytes(), &content).ok()?;
        let milliseconds = Duration::from_secs(left).min(LONGEST_LIFE).as_millis();
        let mut command = redis::cmd("SET");
        // Not in the place of a tombstone; an id is given once.
        command.arg(&name).arg(sealed).arg("NX").arg("PX").arg(milliseconds.to_string());
        self.store.ask::<Option<String>>(Waits::Handshake, command).await.ok().flatten().map(drop)
    }

    fn name(&self, keys: &SecretKeys, id: &[u8]) -> String {
        format!("{}{}", self.prefix, keys.session_names.name(id))
    }
}

/// Ids of sessions, in both versions.
const ID: usize = 32;

/// What stands under the name of a session that is to stay forgotten. No sealed session is empty.
const TOMBSTONE: &str = "";

/// Takes a session out, and leaves a tombstone.
pub(crate) const TAKE: &str = "local there = redis.call('GET', KEYS[1]) \
     if there and there ~= '' then redis.call('DEL', KEYS[1]) end return there";

/// The most that a session may live for. RFC 9846 4.7.1
const LONGEST_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// When an entry expires, in seconds since 1970, at its start.
const EXPIRES: usize = 8;
