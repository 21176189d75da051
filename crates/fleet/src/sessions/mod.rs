//! Sessions in the store, which every node of a fleet can resume.
//!
//! The key of an entry is a keyed digest of the session's ID. The value is encrypted,
//! authenticated together with that key, and contains its own expiry time. So a store can neither
//! exchange sessions nor extend their lifetime. A store can still return a single-use session
//! twice.
//!
//! A single-use session is found first, and claimed once its client has proved that it has the key,
//! in a second request. Any client that has seen the ID of a session can ask for it, and must not
//! be able to remove it. RFC 9846 8.1
//!
//! A session is written once, and only if there is no entry with its key. If the request to write a
//! session has timed out, it can still reach the store after the session was removed. So when the
//! store does not have a session that is to be removed, an empty entry, a *tombstone*, is stored in
//! its place, and the late write fails. A tombstone lives for as long as a session can, and looking
//! the session up does not remove it. Tombstones are stored only for IDs that this fleet issued to
//! clients which completed a handshake, so there are no more of them than sessions.

pub(crate) mod removal;
pub(crate) mod secret_check;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::questions::{ClaimSessionQuestion, FindSessionQuestion};
use tercel::session::NewSession;

use crate::error::FleetError;
use crate::secrets::{SecretKeys, SharedSecrets};
use crate::store::client::{cmd, pipe};
use crate::store::{Caller, Store};

/// The sessions of a fleet in the store.
pub(crate) struct Sessions {
    store: Arc<Store>,
    prefix: String,
    secrets: Arc<SharedSecrets>,
}

impl Sessions {
    pub(crate) fn new(store: Arc<Store>, prefix: &str, secrets: Arc<SharedSecrets>) -> Self {
        Self { store, prefix: format!("{prefix}session:"), secrets }
    }

    /// Finds the session of this ID. Any failure counts as not found, which costs a full
    /// handshake.
    pub(crate) async fn find(&self, question: FindSessionQuestion) -> Option<Vec<u8>> {
        let found = self.look_up(question.identity()).await;
        let counters = &self.store.counters;
        let count = if found.is_some() { &counters.hits } else { &counters.misses };
        count.add();
        found
    }

    /// Removes a single-use session. Returns whether this call removed it: of several concurrent
    /// calls, only one does. RFC 9846 8.1
    pub(crate) async fn claim(&self, question: ClaimSessionQuestion) -> bool {
        self.remove(question.identity()).await.unwrap_or(false)
    }

    pub(crate) async fn remove(&self, id: &[u8]) -> Option<bool> {
        if id.len() != ID {
            return None;
        }
        let secrets = self.secrets.get();
        let mut commands = pipe();
        for (_, keys) in secrets.all() {
            commands.cmd("EVAL").arg(REMOVE_SESSION).arg(1).arg(self.name(keys, id));
        }
        let connections = self.store.connections().ok()?;
        let removed: Vec<i64> =
            self.store.run_pipeline(Caller::Handshake, &connections, commands).await.ok()?;
        Some(removed.contains(&1))
    }

    pub(crate) async fn look_up(&self, id: &[u8]) -> Option<Vec<u8>> {
        // IDs that this fleet cannot have issued are not looked up in the store.
        if id.len() != ID {
            return None;
        }
        let secrets = self.secrets.get();
        // The key of an entry depends on the secret with which the session was encrypted.
        let names: Vec<_> = secrets.all().map(|(_, keys)| self.name(keys, id)).collect();
        let mut commands = pipe();
        names.iter().for_each(|name| _ = commands.cmd("GET").arg(name));
        let connections = self.store.connections().ok()?;
        let sealed: Vec<Option<Vec<u8>>> =
            self.store.run_pipeline(Caller::Handshake, &connections, commands).await.ok()?;
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

    /// Removes the session of this ID, and prevents a later write of the session. Returns whether
    /// the store had the session.
    ///
    /// # Errors
    /// If the store did not confirm the removal. The store may then still have or receive the
    /// session.
    pub(crate) async fn forget(&self, id: &[u8; ID]) -> Result<bool, FleetError> {
        let secrets = self.secrets.get();
        let names: Vec<_> = secrets.all().map(|(_, keys)| self.name(keys, id)).collect();
        let connections = self.store.connections()?;
        let mut commands = pipe();
        names.iter().for_each(|name| _ = commands.cmd("EVAL").arg(REMOVE_SESSION).arg(1).arg(name));
        let removed: Vec<i64> =
            self.store.run_pipeline(Caller::Background, &connections, commands).await?;
        if removed.contains(&1) {
            return Ok(true);
        }
        let mut commands = pipe();
        let life = MAX_LIFETIME.as_millis().to_string();
        for name in &names {
            // This overwrites a session that has arrived meanwhile.
            commands.cmd("SET").arg(name).arg(TOMBSTONE).arg("PX").arg(&life).ignore();
        }
        self.store.run_pipeline::<()>(Caller::Background, &connections, commands).await?;
        Ok(false)
    }

    /// Stores a session. If that fails, the client makes a full handshake next time.
    pub(crate) async fn keep(&self, mut new: NewSession) {
        let stored = self.store(&new).await;
        tercel_crypto::wipe(&mut new.session);
        if stored.is_some() {
            self.store.counters.kept.add();
        }
    }

    async fn store(&self, new: &NewSession) -> Option<()> {
        let expires = new.expires.as_secs();
        let left = expires.checked_sub(UnixTime::now().as_secs()).filter(|left| *left > 0)?;
        if !self.store.is_connected() || new.id.len() != ID {
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
        let milliseconds = Duration::from_secs(left).min(MAX_LIFETIME).as_millis();
        let mut command = cmd("SET");
        // `NX` keeps a tombstone from being overwritten. It never prevents the write of another
        // session, because IDs are unique.
        command.arg(&name).arg(sealed).arg("NX").arg("PX").arg(milliseconds.to_string());
        self.store
            .run_command::<Option<String>>(Caller::Handshake, command)
            .await
            .ok()
            .flatten()
            .map(drop)
    }

    fn name(&self, keys: &SecretKeys, id: &[u8]) -> String {
        format!("{}{}", self.prefix, keys.session_names.name(id))
    }
}

/// Length of session IDs, in both protocol versions.
const ID: usize = 32;

/// The value of a removed session. No sealed session is empty.
const TOMBSTONE: &str = "";

/// Deletes an entry, unless it is a tombstone. Returns the number of deleted entries.
pub(crate) const REMOVE_SESSION: &str = "local there = redis.call('GET', KEYS[1]) \
     if there and there ~= '' then return redis.call('DEL', KEYS[1]) end return 0";

/// The longest lifetime of a session. RFC 9846 4.7.1
const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Length of the expiry time, in seconds since 1970, at the start of a decrypted entry.
const EXPIRES: usize = 8;
