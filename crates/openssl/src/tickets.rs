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
    sealer: Mutex<Option<(Duration, Arc<dyn TicketSealer>)>>,
    store: Mutex<Option<Arc<dyn ServerSessionStore>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ContextTickets {
    /// Draws keys. `None` if the random generator fails.
    pub(crate) fn new() -> Option<Self> {
        let mut keys = Zeroizing::new([0; KEYS]);
        fill_random(&mut keys[..])?;
        Some(Self { keys: Mutex::new(keys), sealer: Mutex::default(), store: Mutex::default() })
    }

    /// The cache, for sessions without a ticket.
    pub(crate) fn store(&self) -> Arc<dyn ServerSessionStore> {
        let new = || Arc::new(WithResult(ServerMemoryStore::new(CACHED_SESSIONS))) as Arc<_>;
        Arc::clone(locked(&self.store).get_or_insert_with(new))
    }

    /// The sealer for sessions with this lifetime. `None` if the keys cannot be used.
    pub(crate) fn sealer(&self, lifetime: Duration) -> Option<Arc<dyn TicketSealer>> {
        let mut slot = locked(&self.sealer);
        if let Some((known, sealer)) = &*slot {
            if *known == lifetime {
                return Some(Arc::clone(sealer));
            }
        }
        let beginning = UnixTime::since_unix_epoch(Duration::ZERO);
        let keys = locked(&self.keys);
        let (name, secrets) = keys.split_first_chunk()?;
        let key = TicketKey::new(*name, &sha256(secrets), beginning);
        let keys = TicketKeySet::new(key, None, None).ok()?;
        let tickets = SharedTickets::new(&keys, lifetime);
        let sealer: Arc<dyn TicketSealer> = Arc::new(SealedWithResult(tickets));
        *slot = Some((lifetime, Arc::clone(&sealer)));
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
        *locked(&self.keys) = keys;
        *locked(&self.sealer) = None;
        1
    }
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

/// A store whose sessions contain the result of the verification.
struct WithResult(ServerMemoryStore);

impl ServerSessionStore for WithResult {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        let session = Zeroizing::new(session);
        self.0.put(id, with_result(&session).to_vec(), expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        without_result(self.0.take(id, now)?)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        without_result(self.0.get(id, now)?)
    }

    fn remove(&self, id: &[u8]) {
        self.0.remove(id);
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
}
