//! Sessions of a server: sealed in tickets under keys of the context, or kept in its cache. Tickets
//! contain the result of the verification of the client, too, which OpenSSL keeps in a session.

use core::ffi::c_long;
use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::pki_types::UnixTime;
use tercel::session::{SharedTickets, TicketKey, TicketKeySet, TicketSealer};
use zeroize::Zeroizing;

use crate::errors::{self, reasons};
use crate::objects::digest::{fill_random, sha256};
use crate::session::cache::{Lookup, Place, Sessions};
use crate::session::{Added, Session};

/// The length of the ticket keys as programs know them: a name of 16 bytes, and two secrets of 32.
const KEYS: usize = 80;

/// The most sessions in a context's cache, unless the program sets another number.
const DEFAULT_SIZE: i64 = 20480;

/// The ticket keys and the cache of a context.
pub(crate) struct ContextTickets {
    /// Drawn with the context, so that processes that are forked later share them.
    keys: Mutex<Zeroizing<[u8; KEYS]>>,
    /// Seals and opens tickets under these keys.
    sealer: SharedTickets,
    cache: Arc<ContextStore>,
}

/// The longest lifetime of a ticket. A session has its own, which is at most as long.
const LONGEST_LIFETIME: Duration = Duration::from_secs(604_800);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ContextTickets {
    /// Draws keys. `None` if the random generator fails.
    pub(crate) fn new() -> Option<Self> {
        let mut keys = Zeroizing::new([0; KEYS]);
        fill_random(&mut keys[..])?;
        let sealer = SharedTickets::new(&key_set(&keys)?, LONGEST_LIFETIME);
        Some(Self { keys: Mutex::new(keys), sealer, cache: Arc::default() })
    }

    /// The cache, for sessions without a ticket.
    pub(crate) fn cache(&self) -> &Arc<ContextStore> {
        &self.cache
    }

    /// Seals the content of a ticket.
    pub(crate) fn seal(&self, content: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.sealer.seal(content, now)
    }

    /// Opens a ticket. Returns its content.
    pub(crate) fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.sealer.open(ticket, now)
    }

    /// Copies the keys to the program, or returns their length for NULL.
    ///
    /// # Safety
    /// The pointer is NULL, or to as many bytes.
    pub(crate) unsafe fn get_keys(&self, to: *mut u8, length: c_long) -> c_long {
        if to.is_null() {
            return 80;
        }
        if length != 80 {
            errors::push(reasons::INVALID_TICKET_KEYS_LENGTH);
            return 0;
        }
        // SAFETY: as this function's contract.
        unsafe { core::ptr::copy_nonoverlapping(locked(&self.keys).as_ptr(), to, KEYS) };
        1
    }

    /// Takes keys from the program: with the same keys, contexts and processes open each other's
    /// tickets. For NULL, returns their length.
    ///
    /// # Safety
    /// The pointer is NULL, or to as many bytes.
    pub(crate) unsafe fn set_keys(&self, from: *const u8, length: c_long) -> c_long {
        if from.is_null() {
            return 80;
        }
        if length != 80 {
            errors::push(reasons::INVALID_TICKET_KEYS_LENGTH);
            return 0;
        }
        let mut keys = Zeroizing::new([0; KEYS]);
        // SAFETY: as this function's contract.
        unsafe { core::ptr::copy_nonoverlapping(from, keys.as_mut_ptr(), KEYS) };
        let mut current = locked(&self.keys);
        let Some(set) = key_set(&keys) else { return 0 };
        *current = keys;
        self.sealer.set_keys(&set);
        1
    }
}

/// Tercel's keys for those of a program. `None` if they cannot be used.
fn key_set(keys: &[u8; KEYS]) -> Option<TicketKeySet> {
    let beginning = UnixTime::since_unix_epoch(Duration::ZERO);
    let (name, secrets) = keys.split_first_chunk()?;
    let key = TicketKey::new(*name, &sha256(secrets), beginning);
    TicketKeySet::new(key, None, None).ok()
}

/// The content of a ticket: a session after what the application knows of it.
///
/// ```text
/// result 8 | version 2 | limited 1 | time 8 | timeout 8 | length 4 | data | session
/// ```
pub(crate) struct Content {
    /// The result of the client's verification.
    pub(crate) result: i64,
    pub(crate) version: u16,
    pub(crate) added: Added,
    pub(crate) session: Zeroizing<Vec<u8>>,
}

/// Writes the content of a ticket with this session.
pub(crate) fn write_content(
    session: &[u8],
    result: i64,
    version: u16,
    added: &Added,
) -> Zeroizing<Vec<u8>> {
    let (time, timeout) = added.limit.unwrap_or_default();
    let length = session.len().saturating_add(added.data.len()).saturating_add(31);
    let mut content = Zeroizing::new(Vec::with_capacity(length));
    content.extend_from_slice(&result.to_be_bytes());
    content.extend_from_slice(&version.to_be_bytes());
    content.push(added.limit.is_some().into());
    content.extend_from_slice(&time.to_be_bytes());
    content.extend_from_slice(&timeout.to_be_bytes());
    let data = u32::try_from(added.data.len()).unwrap_or(u32::MAX);
    content.extend_from_slice(&data.to_be_bytes());
    content.extend_from_slice(&added.data);
    content.extend_from_slice(session);
    content
}

impl Content {
    /// Reads the content of a ticket.
    pub(crate) fn read(content: Vec<u8>) -> Option<Self> {
        let content = Zeroizing::new(content);
        let (result, rest) = content.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let (is_limited, rest) = rest.split_first()?;
        let (time, rest) = rest.split_first_chunk()?;
        let (timeout, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (data, session) = rest.split_at_checked(length)?;
        let limit = (i64::from_be_bytes(*time), i64::from_be_bytes(*timeout));
        let limit = (*is_limited != 0).then_some(limit);
        Some(Self {
            result: i64::from_be_bytes(*result),
            version: u16::from_be_bytes(*version),
            added: Added { limit, data: data.to_vec() },
            session: Zeroizing::new(session.to_vec()),
        })
    }
}

/// The cache of a context.
///
/// Dropping a session can call functions of the program, so what is removed is returned, and
/// dropped without the lock.
pub(crate) struct ContextStore {
    sessions: Mutex<Sessions>,
    /// The most sessions; 0 is no limit (`SSL_CTX_sess_set_cache_size`).
    pub(crate) size: AtomicI64,
}

impl Default for ContextStore {
    fn default() -> Self {
        Self { sessions: Mutex::default(), size: AtomicI64::new(DEFAULT_SIZE) }
    }
}

impl ContextStore {
    /// The number of sessions.
    pub(crate) fn len(&self) -> usize {
        locked(&self.sessions).len()
    }

    fn most(&self) -> usize {
        usize::try_from(self.size.load(Relaxed)).unwrap_or(0)
    }

    /// Adds a session. `None`: this object is here already, or it cannot be resumed.
    pub(crate) fn add(&self, session: &Arc<Session>) -> Option<Place> {
        let (id, end) = {
            let fields = session.fields();
            if !fields.is_resumable() || fields.is_removed {
                return None;
            }
            (fields.id.to_vec(), fields.end())
        };
        locked(&self.sessions).add(&id, session, end, self.most())
    }

    /// Whether this object is in the cache.
    pub(crate) fn has(&self, session: &Arc<Session>) -> bool {
        let id = session.fields().id.to_vec();
        locked(&self.sessions).has(&id, session)
    }

    /// Takes notice of another end of a session.
    pub(crate) fn set_end(&self, session: &Arc<Session>) {
        let (id, end) = {
            let fields = session.fields();
            (fields.id.to_vec(), fields.end())
        };
        locked(&self.sessions).set_end(&id, session, end);
    }

    /// Looks up a session, which has been removed if it has expired.
    pub(crate) fn get(&self, id: &[u8], now: UnixTime) -> Lookup {
        locked(&self.sessions).get(id, i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
    }

    pub(crate) fn remove(&self, id: &[u8]) -> Option<Arc<Session>> {
        locked(&self.sessions).remove(id)
    }

    /// Removes the sessions whose lifetime ends before `time`; all of them for `None`.
    pub(crate) fn remove_ended(&self, time: Option<i64>) -> Vec<Arc<Session>> {
        locked(&self.sessions).remove_ended(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::id::Id;
    use crate::session::Fields;

    #[test]
    fn a_ticket_keeps_what_the_application_knows() {
        for (limit, data) in [(None, vec![]), (Some((7, -1)), b"data".to_vec())] {
            let added = Added { limit, data: data.clone() };
            let bytes = write_content(b"session", 18, 0x0304, &added);
            let read = Content::read(bytes.to_vec()).unwrap();
            assert_eq!(
                (read.result, read.version, &read.session[..]),
                (18, 0x0304, &b"session"[..])
            );
            assert_eq!((read.added.limit, read.added.data), (limit, data));
            // A ticket with another content is not opened: this is for callbacks' ciphers.
            for length in 0..bytes.len() - b"session".len() {
                assert!(Content::read(bytes[..length].to_vec()).is_none(), "{length}");
            }
        }
    }

    #[test]
    fn contexts_with_the_same_keys_open_each_others_tickets() {
        let [one, other] = [(); 2].map(|()| ContextTickets::new().unwrap());
        let (mut keys, now) = ([0_u8; KEYS], UnixTime::now());
        let ticket = one.seal(b"x", now).unwrap();
        assert_eq!(other.open(&ticket, now), None);
        // SAFETY: the buffer has the length that is passed.
        unsafe {
            assert_eq!(one.get_keys(core::ptr::null_mut(), 0), 80);
            assert_eq!(one.get_keys(keys.as_mut_ptr(), 80), 1);
            assert_eq!(other.set_keys(keys.as_ptr(), 79), 0);
            assert_eq!(other.set_keys(keys.as_ptr(), 80), 1);
        }
        assert_eq!(other.open(&ticket, now).unwrap(), b"x");
        // SAFETY: the buffer has the length that is passed.
        unsafe { assert_eq!(one.set_keys([7_u8; KEYS].as_ptr(), 80), 1) };
        assert!(one.open(&ticket, now).is_none());
    }

    #[test]
    fn a_cache_has_room_for_as_many_sessions_as_the_program_sets() {
        let tickets = ContextTickets::new().unwrap();
        let (cache, now) = (tickets.cache(), UnixTime::now());
        cache.size.store(2, Relaxed);
        let time = i64::try_from(now.as_secs()).unwrap();
        let add = |name: &str, timeout: i64| {
            let (id, core) = (Id::new(name.as_bytes()).unwrap(), vec![1].into());
            let fields = Fields { id, core, time, timeout, ..Fields::default() };
            cache.add(&Session::new(fields)).unwrap().removed
        };
        assert!(add("a", 60).is_empty());
        assert!(add("b", 30).is_empty());
        // A session that is replaced needs no more room.
        assert!(add("a", 60).is_empty());
        let removed = add("c", 40);
        assert!(removed.iter().map(|each| each.fields().id.to_vec()).eq([b"b"]));
        assert_eq!(cache.len(), 2);
        assert!(matches!(cache.get(b"a", now), Lookup::Found(_)));
        assert!(matches!(cache.get(b"b", now), Lookup::Unknown));
        // Without a limit.
        cache.size.store(0, Relaxed);
        assert!(add("d", 1).is_empty());
        assert_eq!(cache.len(), 3);
        // A session that cannot be resumed.
        assert!(cache.add(&Session::new(Fields::default())).is_none());
    }
}
