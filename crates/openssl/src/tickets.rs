//! Sessions of a server: sealed in tickets under keys of the context, or kept in its cache. Both
//! contain the result of the verification of the client, too, which OpenSSL keeps in a session.

use core::ffi::c_long;
use core::time::Duration;
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::pki_types::UnixTime;
use tercel::session::{
    ServerMemoryStore, ServerSessionStore, SharedTickets, TicketKey, TicketKeySet, TicketSealer,
};
use zeroize::Zeroizing;

use crate::objects::digest::{fill_random, sha256};

/// The length of the ticket keys as programs know them: a name of 16 bytes, and two secrets of 32.
const KEYS: usize = 80;

/// The number of sessions in a context's cache.
const CACHED_SESSIONS: usize = 20480;

/// The ticket keys and the cache of a context.
pub(crate) struct ContextTickets {
    /// Drawn with the context, so that processes that are forked later share them.
    keys: Mutex<Zeroizing<[u8; KEYS]>>,
    /// A sealer for each lifetime. Configurations keep them, so they are given new keys.
    sealers: Mutex<Vec<(Duration, Arc<SealedWithResult>)>>,
    store: Mutex<Option<Arc<ContextStore>>>,
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
        Some(Self { keys: Mutex::new(keys), sealers: Mutex::default(), store: Mutex::default() })
    }

    /// The cache, for sessions without a ticket.
    pub(crate) fn store(&self) -> Arc<dyn ServerSessionStore> {
        let new = || Arc::new(ContextStore::default());
        Arc::clone(locked(&self.store).get_or_insert_with(new)) as Arc<_>
    }

    /// Removes all sessions from the cache.
    pub(crate) fn clear_store(&self) {
        if let Some(store) = &*locked(&self.store) {
            store.clear();
        }
    }

    /// Removes a session from the cache.
    pub(crate) fn remove_stored(&self, id: &[u8]) {
        let store = locked(&self.store).clone();
        if let Some(store) = store {
            store.remove(id);
        }
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

/// A session with the result of the verification before it.
pub(crate) fn with_result(session: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut content = Zeroizing::new(Vec::with_capacity(session.len().saturating_add(8)));
    content.extend_from_slice(&RESULTS.get().own.to_be_bytes());
    content.extend_from_slice(session);
    content
}

/// Takes the result of the verification from the beginning of a session.
pub(crate) fn without_result(content: Vec<u8>) -> Option<Vec<u8>> {
    let content = Zeroizing::new(content);
    let (result, session) = content.split_first_chunk()?;
    set_found(i64::from_be_bytes(*result));
    Some(session.to_vec())
}

/// Tickets that contain the result of the verification.
struct SealedWithResult(SharedTickets);

impl TicketSealer for SealedWithResult {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.seal(&with_result(session), now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        without_result(self.0.open(ticket, now)?)
    }

    fn lifetime(&self) -> Duration {
        self.0.lifetime()
    }
}

/// The store of a context, whose sessions contain the result of the verification.
struct ContextStore(Mutex<Arc<ServerMemoryStore>>);

impl Default for ContextStore {
    fn default() -> Self {
        Self(Mutex::new(Arc::new(ServerMemoryStore::new(CACHED_SESSIONS))))
    }
}

impl ContextStore {
    fn current(&self) -> Arc<ServerMemoryStore> {
        Arc::clone(&locked(&self.0))
    }

    fn clear(&self) {
        *locked(&self.0) = Arc::new(ServerMemoryStore::new(CACHED_SESSIONS));
    }
}

impl ServerSessionStore for ContextStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        let session = Zeroizing::new(session);
        self.current().put(id, with_result(&session).to_vec(), expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        without_result(self.current().take(id, now)?)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        without_result(self.current().get(id, now)?)
    }

    fn remove(&self, id: &[u8]) {
        self.current().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_cleared_store_has_no_sessions() {
        let tickets = ContextTickets::new().unwrap();
        let (store, now) = (tickets.store(), UnixTime::now());
        let later = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() + 60));
        store.put(b"name", b"session".to_vec(), later);
        assert!(store.get(b"name", now).is_some());
        tickets.clear_store();
        assert!(store.get(b"name", now).is_none());
    }
}
