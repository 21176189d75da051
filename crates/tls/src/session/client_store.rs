//! Sessions that a client keeps to come back with.
//!
//! For: each server's newest sessions, also beyond the life of a process. Must not know: what is in a session;
//! one that may be used again is put back by whoever took it. Next: [`super::store`], the server's side.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use pki_types::{ServerName, UnixTime};
use tercel_wire::{DecodeError, Reader, Writer};
use zeroize::Zeroizing;

use super::aged::Aged;
use super::client_value::ClientSession;
use super::form::Form;
use super::kept::Kept;
use crate::sync::lock::{Mutex, MutexGuard};

/// Where a client keeps sessions.
pub trait ClientSessionStore: Send + Sync {
    /// Keeps one more session for `key`, until `expires`.
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime);

    /// The same for a session that the server lets resume under every name for which its certificate is good.
    /// draft-ietf-tls-cross-sni-resumption
    ///
    /// By default it is kept like any other. A store that knows which names belong together may hand it out
    /// for another of them: the server's certificate is then judged for that name before anything is sent,
    /// and the session is not used if it is refused.
    fn put_across_names(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.put(key, session, expires);
    }

    /// Takes the newest session out: used twice, a ticket would link the connections. RFC 9846 C.4
    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>>;

    /// Forgets all sessions of `key`, as after a fatal alert on a connection of one of them. RFC 5246 7.2.2
    ///
    /// Only the store that a connection's configuration names is told. A session that is a value ([`ClientSession`]) is not
    /// resumed from another store either; one that an application has copied as bytes has to be removed there by the application.
    ///
    /// By default they are taken, one after the other: a store that hands out what was put for another key needs a
    /// way of its own, or it loses that too.
    fn remove(&self, key: &ClientSessionKey) {
        // At the beginning of all time nothing has expired; who has no end to give is asked no more than that.
        let beginning = UnixTime::since_unix_epoch(Duration::ZERO);
        let taken = || self.take(key, beginning).map(Zeroizing::new);
        (0..MAX_SESSIONS_EACH).map_while(|_| taken()).for_each(drop);
    }

    /// [`Self::put`] for a store that can keep the value itself. By default its bytes are put.
    fn put_session(&self, key: &ClientSessionKey, session: ClientSession, expires: UnixTime) {
        if let Some(bytes) = session.to_bytes() {
            self.put(key, bytes, expires);
        }
    }

    /// [`Self::take`] for a store that can keep the value itself. By default it is made of the bytes taken, which are
    /// then wiped.
    fn take_session(&self, key: &ClientSessionKey, now: UnixTime) -> Option<ClientSession> {
        let bytes = Zeroizing::new(self.take(key, now)?);
        ClientSession::from_bytes(&bytes)
    }
}

/// What two connections must have in common for one to resume the other's session.
#[derive(Clone, Debug, Eq)]
pub struct ClientSessionKey {
    pub(crate) server_name: ServerName<'static>,
    port: Option<u16>,
    configuration: [u8; 32],
}

impl ClientSessionKey {
    /// The server as it was named, its port if that tells servers apart, and a digest of what the client
    /// asks of it: ALPN, roots.
    #[must_use]
    pub fn new(
        server_name: ServerName<'static>,
        port: Option<u16>,
        configuration: [u8; 32],
    ) -> Self {
        Self { server_name, port, configuration }
    }

    /// `name 1.. | has port 1 | [port 2] | configuration 32`
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.opaque8(self.server_name.to_str().as_bytes());
        writer.u8(u8::from(self.port.is_some()));
        if let Some(port) = self.port {
            writer.u16(port);
        }
        writer.bytes(&self.configuration);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let name = core::str::from_utf8(reader.opaque8().ok()?).ok()?;
        let name = ServerName::try_from(name).ok()?;
        let port = match reader.u8().ok()? {
            0 => None,
            1 => Some(reader.u16().ok()?),
            _ => return None,
        };
        let configuration = reader.array().ok()?;
        Some(Self::new(name.to_owned(), port, *configuration))
    }
}

/// Names that differ in case alone are equal. RFC 4343 3
impl PartialEq for ClientSessionKey {
    fn eq(&self, other: &Self) -> bool {
        // A name's own comparison goes letter by letter, and nearly all that are equal are so to the letter.
        let named_alike = match (&self.server_name, &other.server_name) {
            (ServerName::DnsName(own), ServerName::DnsName(other)) => {
                own.as_ref().as_bytes() == other.as_ref().as_bytes() || own == other
            }
            (own, other) => own == other,
        };
        named_alike && self.port == other.port && self.configuration == other.configuration
    }
}

/// In few pieces: a hash costs by the piece, and the name's own takes one for each letter.
impl Hash for ClientSessionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Of a digest a part says as much as all of it.
        let configuration = self.configuration.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let port = self.port.map_or(u32::MAX, u32::from);
        match &self.server_name {
            ServerName::DnsName(name) => {
                let name = name.as_ref().as_bytes();
                let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
                let rest = length ^ u64::from(port).rotate_left(32) ^ configuration;
                let mut head = [0; 8 + PIECE];
                let (first, room) = head.split_at_mut(8);
                first.copy_from_slice(&rest.to_le_bytes());
                let (begin, more) = name.split_at(name.len().min(PIECE));
                room.iter_mut().zip(begin).for_each(|(to, from)| *to = *from);
                room.make_ascii_lowercase();
                state.write(head.get(..begin.len().saturating_add(8)).unwrap_or_default());
                for part in more.chunks(PIECE) {
                    let mut lower = [0; PIECE];
                    lower.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
                    lower.make_ascii_lowercase();
                    state.write(lower.get(..part.len()).unwrap_or_default());
                }
            }
            other => {
                state.write_u64(u64::from(port) ^ configuration);
                other.hash(state);
            }
        }
    }
}

/// Letters of a name that are hashed at once.
const PIECE: usize = 32;

/// A [`ClientSessionStore`] in memory, which can be saved as bytes.
///
/// The numbers of servers and of sessions for each are bounded: the server heard of longest ago and the oldest
/// session make room. Sessions are wiped when they go.
pub struct ClientMemoryStore {
    servers: Mutex<Servers>,
    sessions_each: usize,
}

type Servers = Aged<Arc<ClientSessionKey>, Sessions>;

/// A server's, oldest first. Who has none left keeps the place while it is one of those heard of last.
type Sessions = VecDeque<Kept<Form<ClientSession>>>;

impl ClientMemoryStore {
    /// Room for `servers` servers and `sessions_each` sessions, 255 at most, of each.
    #[must_use]
    pub fn new(servers: usize, sessions_each: usize) -> Self {
        let sessions_each = sessions_each.min(MAX_SESSIONS_EACH);
        Self { servers: Mutex::new(Aged::new(servers)), sessions_each }
    }

    /// All sessions, for a later process. Whoever reads the bytes can impersonate this client to the servers
    /// and, where no new key exchange was made, read what is resumed.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let servers = self.lock();
        let some = || servers.iter().filter(|(_, sessions)| !sessions.is_empty());
        let length = some().fold(2, |sum, (key, sessions)| {
            sessions.iter().fold(longest_head(key).saturating_add(sum), |sum, kept| {
                sum.saturating_add(kept.session().room()).saturating_add(8 + 3)
            })
        });
        // With room for all, so that growing leaves no copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        let mut writer = Writer::new(&mut bytes);
        writer.u16(VERSION);
        for (key, sessions) in some() {
            write_server(&mut writer, key, sessions);
        }
        bytes
    }

    /// A store of the given size with what [`Self::to_bytes`] wrote, or as much of it as has room.
    ///
    /// # Errors
    /// If the bytes are of another version, cut, or nothing that was written.
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

    /// One lock for all: a client holds it for a look into a map, once or twice a connection.
    fn lock(&self) -> MutexGuard<'_, Servers> {
        // Nothing panics while it holds the lock, and each change leaves the map as it should be.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientMemoryStore {
    fn keep(&self, key: &ClientSessionKey, session: Form<ClientSession>, expires: UnixTime) {
        if self.sessions_each == 0 || session.room() > MAX_SESSION {
            return;
        }
        let kept = Kept::new(session, expires);
        let mut servers = self.lock();
        let Some(sessions) = servers.renew(key) else {
            servers.insert(Arc::new(key.clone()), VecDeque::from([kept]));
            return;
        };
        while sessions.len() >= self.sessions_each {
            sessions.pop_front();
        }
        sessions.push_back(kept);
    }

    fn newest(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Form<ClientSession>> {
        let mut servers = self.lock();
        let sessions = servers.get_mut(key)?;
        let mut taken = None;
        while taken.is_none() && !sessions.is_empty() {
            taken = sessions.pop_back().filter(|kept| kept.is_fresh(now));
        }
        taken.map(Kept::into_session)
    }
}

impl ClientSessionStore for ClientMemoryStore {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.keep(key, Form::bytes(session), expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.newest(key, now)?.into_bytes()
    }

    fn remove(&self, key: &ClientSessionKey) {
        if let Some(sessions) = self.lock().get_mut(key) {
            sessions.clear();
        }
    }

    fn put_session(&self, key: &ClientSessionKey, session: ClientSession, expires: UnixTime) {
        self.keep(key, Form::Value(session), expires);
    }

    fn take_session(&self, key: &ClientSessionKey, now: UnixTime) -> Option<ClientSession> {
        self.newest(key, now)?.into_value()
    }
}

impl Default for ClientMemoryStore {
    /// Room for 256 servers and four sessions of each.
    fn default() -> Self {
        Self::new(256, 4)
    }
}

impl fmt::Debug for ClientMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ClientMemoryStore");
        shown.field("sessions_each", &self.sessions_each).finish_non_exhaustive()
    }
}

/// Why bytes are no [`ClientMemoryStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedSessionsError {
    /// The bytes are of a version that this library does not know.
    UnknownVersion(u16),
    /// The bytes are not those of a store.
    Malformed,
}

impl fmt::Display for SavedSessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion(version) => {
                write!(f, "saved sessions in format {version}, which is not known here")
            }
            Self::Malformed => f.write_str("the bytes are no saved sessions"),
        }
    }
}

impl std::error::Error for SavedSessionsError {}

/// ```text
/// version 2 = 0001, then of each server, oldest first:
/// key, see [`ClientSessionKey::write`] | count 1 | count * (expires 8 | session 3..)
/// ```
fn write_server(writer: &mut Writer<'_>, key: &ClientSessionKey, sessions: &Sessions) {
    let bytes =
        |kept: &Kept<Form<ClientSession>>| Some((kept.session().to_bytes()?, kept.expires()));
    key.write(writer);
    writer.u8(u8::try_from(sessions.iter().filter_map(bytes).count()).unwrap_or(u8::MAX));
    for (session, expires) in sessions.iter().filter_map(bytes).take(MAX_SESSIONS_EACH) {
        writer.u64(expires.as_secs());
        writer.opaque24(&session);
    }
}

/// The bytes before a server's sessions.
fn longest_head(key: &ClientSessionKey) -> usize {
    key.server_name.to_str().len().saturating_add(1 + 3 + 32 + 1)
}

const VERSION: u16 = 1;

/// So that the count of a server's sessions is one byte.
const MAX_SESSIONS_EACH: usize = 0xff;

/// So that a session's length is three bytes. A longer one is not kept.
const MAX_SESSION: usize = 0xff_ffff;

#[cfg(test)]
mod tests;
