//! Sessions of a server: sealed in tickets under keys of the context, or kept in its cache. Tickets
//! contain the result of the verification of the client, too, which OpenSSL keeps in a session.

use core::ffi::c_long;
use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tercel::pki_types::UnixTime;
use tercel::session::{SharedTickets, TicketKey, TicketKeySet, TicketSealer};
use tercel::wire::ProtocolVersion;
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
    /// A sealer for each lifetime. Configurations keep them, so they are given new keys.
    sealers: Mutex<Vec<(Duration, Arc<SealedWithResult>)>>,
    cache: Arc<ContextStore>,
}

/// The most lifetimes for which a context has a sealer. Others have one of their own, which does
/// not get new keys.
const MOST_LIFETIMES: usize = 64;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ContextTickets {
    /// Draws keys. `None` if the random generator fails.
    pub(crate) fn new() -> Option<Self> {
        let mut keys = Zeroizing::new([0; KEYS]);
        fill_random(&mut keys[..])?;
        Some(Self { keys: Mutex::new(keys), sealers: Mutex::default(), cache: Arc::default() })
    }

    /// The cache, for sessions without a ticket.
    pub(crate) fn cache(&self) -> &Arc<ContextStore> {
        &self.cache
    }

    /// The sealer for sessions with this lifetime. `None` if the keys cannot be used.
    pub(crate) fn sealer(&self, lifetime: Duration) -> Option<Arc<dyn TicketSealer>> {
        // The keys are locked until the sealer is known, so that it is not left with old ones.
        let keys = locked(&self.keys);
        let mut sealers = locked(&self.sealers);
        if let Some((_, sealer)) = sealers.iter().find(|(known, _)| *known == lifetime) {
            return Some(Arc::clone(sealer) as Arc<_>);
        }
        let tickets = SharedTickets::new(&key_set(&keys)?, lifetime);
        let sealer = Arc::new(SealedWithResult(tickets));
        if sealers.len() < MOST_LIFETIMES {
            sealers.push((lifetime, Arc::clone(&sealer)));
        }
        Some(sealer)
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
        locked(&self.sealers).iter().for_each(|(_, sealer)| sealer.0.set_keys(&set));
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

/// The results of verification in one step of a connection.
#[derive(Clone, Copy, Default)]
pub(crate) struct Results {
    /// The result of the peer's verification. It enters the sessions that are made.
    pub(crate) own: i64,
    /// The result in a session that was found.
    pub(crate) found: Option<i64>,
}

thread_local! {
    /// The results of the step that this thread runs.
    static RESULTS: Cell<Results> = const { Cell::new(Results { own: 0, found: None }) };
}

/// Sets the results of the step that begins or continues, and returns those of the step before.
pub(crate) fn exchange_results(results: Results) -> Results {
    RESULTS.replace(results)
}

/// Notes the result of verification in a session that was found. New tickets for it contain the
/// result, too.
pub(crate) fn set_found(result: i64) {
    RESULTS.set(Results { own: result, found: Some(result) });
}

/// What tickets and caches ask the connection whose step the thread runs.
#[derive(Clone, Copy)]
pub(crate) struct Questions {
    /// The negotiated version.
    pub(crate) version: fn() -> Option<ProtocolVersion>,
    /// What the program has added to the session that is issued now.
    pub(crate) added: fn() -> Added,
    /// Whether a session may be issued now: in a ticket, or in a cache.
    pub(crate) may_issue: fn(bool) -> bool,
    /// Whether a session may be resumed that was found, with what the program has added to it.
    pub(crate) may_use: fn(Added) -> bool,
    /// Whether a ticket may be used. `None` as the version: it could not be opened.
    pub(crate) may_use_ticket: fn(&[u8], Option<u16>) -> bool,
    /// Whether the program wants the ticket that was used to be replaced.
    pub(crate) renews_ticket: fn() -> bool,
    /// Notes that this session was sealed in a ticket.
    pub(crate) issued: fn(&[u8]),
}

/// The answers of connections, which are above this module.
static QUESTIONS: OnceLock<Questions> = OnceLock::new();

/// The answers while there is no connection.
const WITHOUT_CONNECTION: Questions = Questions {
    version: || None,
    added: Added::default,
    may_issue: |_| true,
    may_use: |_| true,
    may_use_ticket: |_, _| true,
    renews_ticket: || false,
    issued: |_| (),
};

/// Sets the functions of connections.
pub(crate) fn set_questions(questions: Questions) {
    let _ = QUESTIONS.set(questions);
}

fn questions() -> Questions {
    QUESTIONS.get().copied().unwrap_or(WITHOUT_CONNECTION)
}

/// A session after what the program knows of it: the result of the verification, the version, and
/// what the program has added.
///
/// ```text
/// result 8 | version 2 | limited 1 | time 8 | timeout 8 | length 4 | data | session
/// ```
pub(crate) fn with_result(session: &[u8]) -> Zeroizing<Vec<u8>> {
    let version = (questions().version)().map_or(0, |version| version.0);
    content(session, RESULTS.get().own, version, &(questions().added)())
}

fn content(session: &[u8], result: i64, version: u16, added: &Added) -> Zeroizing<Vec<u8>> {
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

/// A session that was found, and its version.
struct Found {
    session: Vec<u8>,
    version: u16,
}

/// Takes what the program knows from the beginning of a session. `None` if the session may not be
/// resumed any more.
fn without_result(content: Vec<u8>) -> Option<Found> {
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
    if !(questions().may_use)(Added { limit, data: data.to_vec() }) {
        return None;
    }
    set_found(i64::from_be_bytes(*result));
    Some(Found { session: session.to_vec(), version: u16::from_be_bytes(*version) })
}

/// Takes the session from the content of a ticket, if the program lets it be used. `None` as the
/// content: the ticket could not be opened.
pub(crate) fn from_ticket(ticket: &[u8], content: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let found = content.and_then(without_result);
    let version = found.as_ref().map(|found| found.version);
    let is_used = (questions().may_use_ticket)(ticket, version);
    found.filter(|_| is_used).map(|found| found.session)
}

/// Whether the program wants the ticket that was used to be replaced.
pub(crate) fn renews_ticket() -> bool {
    (questions().renews_ticket)()
}

/// Tickets that contain the result of the verification.
struct SealedWithResult(SharedTickets);

impl TicketSealer for SealedWithResult {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        if !(questions().may_issue)(true) {
            return None;
        }
        let ticket = self.0.seal(&with_result(session), now)?;
        (questions().issued)(session);
        Some(ticket)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        from_ticket(ticket, self.0.open(ticket, now))
    }

    fn needs_renewal(&self, _: &[u8], _: UnixTime) -> bool {
        renews_ticket()
    }

    fn lifetime(&self) -> Duration {
        self.0.lifetime()
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
            (fields.id.clone(), fields.end())
        };
        locked(&self.sessions).add(&id, session, end, self.most())
    }

    /// Whether this object is in the cache.
    pub(crate) fn has(&self, session: &Arc<Session>) -> bool {
        let id = session.fields().id.clone();
        locked(&self.sessions).has(&id, session)
    }

    /// Takes notice of another end of a session.
    pub(crate) fn set_end(&self, session: &Arc<Session>) {
        let (id, end) = {
            let fields = session.fields();
            (fields.id.clone(), fields.end())
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
    use crate::session::Fields;

    #[test]
    fn tickets_keep_the_result_of_verification() {
        let tickets = ContextTickets::new().unwrap();
        let sealer = tickets.sealer(Duration::from_secs(300)).unwrap();
        exchange_results(Results { own: 18, found: None });
        let ticket = sealer.seal(b"session", UnixTime::now()).unwrap();
        exchange_results(Results::default());
        assert_eq!(sealer.open(&ticket, UnixTime::now()).unwrap(), b"session");
        assert_eq!(exchange_results(Results::default()).found, Some(18));
        let other = ContextTickets::new().unwrap().sealer(Duration::from_secs(300)).unwrap();
        assert_eq!(other.open(&ticket, UnixTime::now()), None);
    }

    #[test]
    fn contexts_with_the_same_keys_open_each_others_tickets() {
        let [one, other] = [(); 2].map(|()| ContextTickets::new().unwrap());
        let mut keys = [0_u8; KEYS];
        // SAFETY: the buffer has the length that is passed.
        unsafe {
            assert_eq!(one.get_keys(core::ptr::null_mut(), 0), 80);
            assert_eq!(one.get_keys(keys.as_mut_ptr(), 80), 1);
            assert_eq!(other.set_keys(keys.as_ptr(), 79), 0);
            assert_eq!(other.set_keys(keys.as_ptr(), 80), 1);
        }
        let lifetime = Duration::from_secs(60);
        let ticket = one.sealer(lifetime).unwrap().seal(b"x", UnixTime::now()).unwrap();
        assert!(other.sealer(lifetime).unwrap().open(&ticket, UnixTime::now()).is_some());
    }

    /// Configurations that were made before keep their sealer.
    #[test]
    fn a_sealer_gets_new_keys() {
        let tickets = ContextTickets::new().unwrap();
        let sealer = tickets.sealer(Duration::from_secs(60)).unwrap();
        let old = sealer.seal(b"x", UnixTime::now()).unwrap();
        // SAFETY: the buffer has the length that is passed.
        unsafe { assert_eq!(tickets.set_keys([7_u8; KEYS].as_ptr(), 80), 1) };
        assert!(sealer.open(&old, UnixTime::now()).is_none());
        let new = sealer.seal(b"x", UnixTime::now()).unwrap();
        assert!(
            tickets.sealer(Duration::from_secs(9)).unwrap().open(&new, UnixTime::now()).is_some()
        );
    }

    #[test]
    fn a_cache_has_room_for_as_many_sessions_as_the_program_sets() {
        let tickets = ContextTickets::new().unwrap();
        let (cache, now) = (tickets.cache(), UnixTime::now());
        cache.size.store(2, Relaxed);
        let time = i64::try_from(now.as_secs()).unwrap();
        let add = |name: &str, timeout: i64| {
            let (id, core) = (name.as_bytes().to_vec(), vec![1].into());
            let fields = Fields { id, core, time, timeout, ..Fields::default() };
            cache.add(&Session::new(fields)).unwrap().removed
        };
        assert!(add("a", 60).is_empty());
        assert!(add("b", 30).is_empty());
        // A session that is replaced needs no more room.
        assert!(add("a", 60).is_empty());
        let removed = add("c", 40);
        assert!(removed.iter().map(|each| each.fields().id.clone()).eq([b"b"]));
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
