//! What the connections of one process have in common: sessions, ticket keys, the replay guard, the time.
//!
//! Must not know: flags, sockets. Next: [`crate::config`], which puts these into configurations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tercel::crypto::CryptoError;
use tercel::pki_types::UnixTime;
use tercel::{
    AdmitEarlyData, ClientSessionKey, ClientSessionStore, Clock, MemoryStore, NewSession,
    ReplayGuard, RotatingTickets, SessionStore, TicketSealer,
};

use crate::runner_tickets::RunnerTickets;

/// Shared by all connections.
pub(crate) struct Sessions {
    pub(crate) clock: Arc<Dial>,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) store: Arc<Counted>,
    pub(crate) tickets: Arc<dyn TicketSealer>,
    pub(crate) guard: Arc<Once>,
}

impl Sessions {
    /// With the runner's key for tickets, or with keys of the library's if there is none.
    pub(crate) fn new(ticket_key: &[u8]) -> Result<Self, CryptoError> {
        let clock = Dial { seconds: Mutex::new(UnixTime::now().as_secs()) };
        let tickets: Arc<dyn TicketSealer> = if ticket_key.is_empty() {
            Arc::new(RotatingTickets::new(clock.now())?)
        } else {
            Arc::new(RunnerTickets::new(ticket_key)?)
        };
        let guard = Once(ReplayGuard::new(16, at(0)));
        Ok(Self {
            clock: Arc::new(clock),
            shelf: Arc::default(),
            store: Arc::new(Counted { store: MemoryStore::new(16), kept: AtomicUsize::new(0) }),
            tickets,
            guard: Arc::new(guard),
        })
    }

    /// Keeps what a server's configuration left to the application.
    pub(crate) fn keep(&self, sessions: Vec<NewSession>) {
        for new in sessions {
            self.store.put(&new.id, new.session, new.expires);
        }
    }
}

/// A clock that stands still until it is turned, so that the age of a ticket is exact.
pub(crate) struct Dial {
    seconds: Mutex<u64>,
}

impl Dial {
    pub(crate) fn turn(&self, seconds: u64) {
        *open(&self.seconds) += seconds;
    }
}

impl Clock for Dial {
    fn now(&self) -> UnixTime {
        at(*open(&self.seconds))
    }
}

/// A client's store with room for one session, which is offered whatever the connection is called or
/// configured: so does BoringSSL's shim.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<Shelved>);

#[derive(Default)]
struct Shelved {
    session: Option<Vec<u8>>,
    /// What was taken last: when it comes back, it is no new session.
    taken: Option<Vec<u8>>,
    new: usize,
}

impl Shelf {
    /// The session that the next connection will offer.
    pub(crate) fn session(&self) -> Option<Vec<u8>> {
        open(&self.0).session.clone()
    }

    /// How many sessions came, ever.
    pub(crate) fn count(&self) -> usize {
        open(&self.0).new
    }
}

impl ClientSessionStore for Shelf {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        let mut shelved = open(&self.0);
        if shelved.taken.as_ref() != Some(&session) {
            shelved.new += 1;
        }
        shelved.session = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        let mut shelved = open(&self.0);
        shelved.taken = shelved.session.take();
        shelved.taken.clone()
    }
}

/// Shows a session to a connection that is never made.
pub(crate) struct Sample(pub(crate) Vec<u8>);

impl ClientSessionStore for Sample {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

/// A server's store that counts what it was given.
pub(crate) struct Counted {
    store: MemoryStore,
    kept: AtomicUsize,
}

impl Counted {
    pub(crate) fn count(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }
}

impl SessionStore for Counted {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        self.store.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.store.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.store.get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.store.remove(id);
    }
}

/// Admits all early data, but none twice.
pub(crate) struct Once(ReplayGuard);

impl AdmitEarlyData for Once {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        let expires = at(now.as_secs().saturating_add(FRESH));
        self.0.insert_once(unique, expires, now)
    }
}

/// Seconds for which a replay could count as fresh: the library's window to either side of now.
const FRESH: u64 = 120;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_comes_back_is_not_new() {
        let key = ClientSessionKey::new("a.test".try_into().unwrap(), None, [0; 32]);
        let shelf = Shelf::default();
        shelf.put(&key, b"first".to_vec(), at(0));
        assert_eq!(shelf.take(&key, at(0)).unwrap(), b"first");
        assert_eq!(shelf.session(), None);
        shelf.put(&key, b"first".to_vec(), at(0));
        assert_eq!((shelf.count(), shelf.session().unwrap()), (1, b"first".to_vec()));
        shelf.put(&key, b"second".to_vec(), at(0));
        assert_eq!((shelf.count(), shelf.session().unwrap()), (2, b"second".to_vec()));
    }

    #[test]
    fn early_data_is_admitted_once() {
        let sessions = Sessions::new(&[]).unwrap();
        let now = sessions.clock.now();
        assert!(sessions.guard.admit_early_data(b"binder", now));
        assert!(!sessions.guard.admit_early_data(b"binder", now));
        assert!(sessions.guard.admit_early_data(b"another", now));
    }
}
