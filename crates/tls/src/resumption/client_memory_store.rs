//! A client's session store in memory.

use core::fmt;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use pki_types::UnixTime;
use tercel_wire::{DecodeError, Reader, Writer};
use zeroize::Zeroizing;

use super::lru_map::LruMap;
use super::session::client_session::ClientSession;
use super::session::client_store::{ClientSessionKey, ClientSessionStore, MAX_SESSIONS_EACH};
use super::store_entry::{Encoding, StoreEntry, max_bytes};
use crate::sync::lock::{Mutex, MutexGuard};

/// A [`ClientSessionStore`] in memory, which can be saved as bytes.
///
/// The number of servers and the number of sessions per server are limited, and the bytes of all
/// sessions to 8 KiB for each, because servers decide about the length of their certificates and
/// tickets. If there are too many servers or bytes, the servers that have gone longest without a
/// new session are evicted. If a server has too many sessions, its oldest session is evicted.
/// Removed sessions are zeroized.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use tercel::{ClientConfig, session::ClientMemoryStore};
///
/// let store = Arc::new(ClientMemoryStore::from_bytes(&std::fs::read("sessions")?, 100, 4)?);
/// let builder = ClientConfig::builder().native_roots();
/// let config = builder.session_store(Arc::clone(&store) as _).build()?;
/// // After connections with `config`. The bytes contain keys.
/// std::fs::write("sessions", store.to_bytes())?;
/// # let _ = config; Ok(()) }
/// ```
pub struct ClientMemoryStore {
    servers: Mutex<Servers>,
    sessions_each: usize,
    max_bytes: usize,
}

type Servers = LruMap<Arc<ClientSessionKey>, Sessions>;

/// The sessions of one server, oldest first. A server without sessions remains in the store until
/// it is evicted.
type Sessions = VecDeque<StoreEntry<Encoding<ClientSession>>>;

impl ClientMemoryStore {
    /// Creates a store for `servers` servers with `sessions_each` sessions each, at most 255.
    #[must_use]
    pub fn new(servers: usize, sessions_each: usize) -> Self {
        let sessions_each = sessions_each.min(MAX_SESSIONS_EACH);
        let max_bytes = max_bytes(servers.saturating_mul(sessions_each));
        Self { servers: Mutex::new(LruMap::new(servers, max_bytes)), sessions_each, max_bytes }
    }

    /// Returns all sessions as bytes, for a later process. The bytes contain keys: they suffice to
    /// impersonate this client to the servers and, if a session is resumed without a new key
    /// exchange, to decrypt the connection.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let servers = self.lock();
        let non_empty = || servers.iter().filter(|(_, sessions)| !sessions.is_empty());
        let length = non_empty().fold(2, |sum, (key, sessions)| {
            sessions.iter().fold(max_header_length(key).saturating_add(sum), |sum, entry| {
                sum.saturating_add(entry.session.max_encoded_length()).saturating_add(8 + 3)
            })
        });
        // The full capacity is allocated, because growing would leave copies of secrets in freed
        // memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        let mut writer = Writer::new(&mut bytes);
        writer.u16(VERSION);
        for (key, sessions) in non_empty() {
            write_server(&mut writer, key, sessions);
        }
        bytes
    }

    /// Restores a store from the bytes of [`Self::to_bytes`]. If it exceeds the given size, only
    /// the newest sessions are kept.
    ///
    /// # Errors
    /// If the bytes have another format version, or are truncated or malformed.
    pub fn from_bytes(
        bytes: &[u8],
        servers: usize,
        sessions_each: usize,
    ) -> Result<Self, SavedSessionsError> {
        let store = Self::new(servers, sessions_each);
        let mut reader = Reader::new(bytes);
        let version = reader.u16().map_err(|_| SavedSessionsError::Malformed)?;
        if version != VERSION {
            return Err(SavedSessionsError::UnknownVersion(version));
        }
        while !reader.is_empty() {
            store.read_server(&mut reader)?;
        }
        Ok(store)
    }

    fn read_server(&self, reader: &mut Reader<'_>) -> Result<(), SavedSessionsError> {
        let malformed = |_: DecodeError| SavedSessionsError::Malformed;
        let key = ClientSessionKey::read(reader).ok_or(SavedSessionsError::Malformed)?;
        for _ in 0..reader.u8().map_err(malformed)? {
            let expires = Duration::from_secs(reader.u64().map_err(malformed)?);
            let session = reader.opaque24().map_err(malformed)?;
            self.put(&key, session.to_vec(), UnixTime::since_unix_epoch(expires));
        }
        Ok(())
    }

    /// Locks the map. One lock suffices, because a connection takes it only once or twice, and only
    /// for an access to the map.
    fn lock(&self) -> MutexGuard<'_, Servers> {
        // No code panics while it holds the lock, so the map is always consistent.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientMemoryStore {
    fn insert(&self, key: &ClientSessionKey, session: Encoding<ClientSession>, expires: UnixTime) {
        let bytes = session.max_encoded_length();
        if self.sessions_each == 0 || bytes > MAX_SESSION.min(self.max_bytes) {
            return;
        }
        let mut entry = Some(StoreEntry { session, expires });
        let mut servers = self.lock();
        let renewed = servers.renew(key, |sessions| {
            let mut total = bytes_of(sessions).saturating_add(bytes);
            while sessions.len() >= self.sessions_each || total > self.max_bytes {
                let Some(oldest) = sessions.pop_front() else { break };
                total = total.saturating_sub(oldest.session.max_encoded_length());
            }
            sessions.extend(entry.take());
            total
        });
        if let (None, Some(entry)) = (renewed, entry) {
            servers.insert(Arc::new(key.clone()), VecDeque::from([entry]), bytes);
        }
    }

    fn take_newest(
        &self,
        key: &ClientSessionKey,
        now: UnixTime,
    ) -> Option<Encoding<ClientSession>> {
        let newest = |sessions: &mut Sessions| {
            let mut taken = None;
            while taken.is_none() && !sessions.is_empty() {
                taken = sessions.pop_back().filter(|entry| entry.is_unexpired(now));
            }
            (bytes_of(sessions), taken.map(|entry| entry.session))
        };
        self.lock().change(key, newest)?
    }
}

/// Returns an upper bound for the number of bytes of a server's sessions.
fn bytes_of(sessions: &Sessions) -> usize {
    let lengths = sessions.iter().map(|entry| entry.session.max_encoded_length());
    lengths.fold(0, usize::saturating_add)
}

impl ClientSessionStore for ClientMemoryStore {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.insert(key, Encoding::bytes(session), expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.take_newest(key, now)?.into_bytes()
    }

    fn remove(&self, key: &ClientSessionKey) {
        self.lock().change(key, |sessions| (0, sessions.clear()));
    }

    fn put_session(&self, key: &ClientSessionKey, session: ClientSession, expires: UnixTime) {
        self.insert(key, Encoding::Value(session), expires);
    }

    fn take_session(&self, key: &ClientSessionKey, now: UnixTime) -> Option<ClientSession> {
        self.take_newest(key, now)?.into_value()
    }
}

impl Default for ClientMemoryStore {
    /// Creates a store for 256 servers with four sessions each, and 8 MiB of sessions.
    fn default() -> Self {
        Self::new(256, 4)
    }
}

debug_fields!(ClientMemoryStore: sessions_each);

/// The error of restoring a [`ClientMemoryStore`] from bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedSessionsError {
    /// The bytes have a format version that this library does not support.
    UnknownVersion(u16),
    /// The bytes are not a saved store.
    Malformed,
}

impl fmt::Display for SavedSessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion(version) => {
                write!(f, "saved sessions have the unsupported format version {version}")
            }
            Self::Malformed => f.write_str("saved sessions are malformed"),
        }
    }
}

impl std::error::Error for SavedSessionsError {}

/// Writes a server's part of the saved bytes. The number after a field is its length in bytes, and
/// with `..` the length of its length prefix:
///
/// ```text
/// format version 2 (always 0001), then for each server, oldest first:
/// key, see [`ClientSessionKey::write`] | count 1 | count * (expires 8 | session 3..)
/// ```
fn write_server(writer: &mut Writer<'_>, key: &ClientSessionKey, sessions: &Sessions) {
    let bytes = |entry: &StoreEntry<Encoding<ClientSession>>| {
        Some((entry.session.to_bytes()?, entry.expires))
    };
    key.write(writer);
    writer.u8(u8::try_from(sessions.iter().filter_map(bytes).count()).unwrap_or(u8::MAX));
    for (session, expires) in sessions.iter().filter_map(bytes).take(MAX_SESSIONS_EACH) {
        writer.u64(expires.as_secs());
        writer.opaque24(&session);
    }
}

/// Returns the maximum number of bytes before a server's sessions.
fn max_header_length(key: &ClientSessionKey) -> usize {
    key.server_name().to_str().len().saturating_add(1 + 3 + 32 + 1)
}

const VERSION: u16 = 1;

/// The maximum length of a stored session. The length is written as three bytes.
const MAX_SESSION: usize = 0xff_ffff;

#[cfg(test)]
mod tests;
