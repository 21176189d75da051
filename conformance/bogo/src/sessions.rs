//! The state that the connections of a test share: sessions, ticket keys, replay guard, clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tercel::crypto::CryptoError;
use tercel::pki_types::UnixTime;
use tercel::wire::CipherSuite;
use tercel::{
    clock::Clock,
    session::{
        AdmitEarlyData, ClientSessionKey, ClientSessionStore, NewSession, ReplayGuard,
        ReplayGuardId, RotatingTickets, ServerMemoryStore, ServerSessionStore, TicketSealer,
    },
};

use crate::config::GUARD;
use crate::runner_tickets::RunnerTickets;

/// The shared state of all connections.
pub(crate) struct Sessions {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) client_store: Arc<SingleSessionStore>,
    pub(crate) store: Arc<CountingStore>,
    pub(crate) tickets: Arc<dyn TicketSealer>,
    pub(crate) guard: Arc<SingleUseGuard>,
}

impl Sessions {
    /// Creates the state with the runner's ticket key, or with new keys if there is none.
    pub(crate) fn new(ticket_key: &[u8]) -> Result<Self, CryptoError> {
        let clock = ManualClock { seconds: Mutex::new(UnixTime::now().as_secs()) };
        let tickets: Arc<dyn TicketSealer> = if ticket_key.is_empty() {
            Arc::new(RotatingTickets::new(clock.now())?)
        } else {
            Arc::new(RunnerTickets::new(ticket_key)?)
        };
        let guard = SingleUseGuard(ReplayGuard::new(16, at(0)));
        Ok(Self {
            clock: Arc::new(clock),
            client_store: Arc::default(),
            store: Arc::new(CountingStore {
                store: ServerMemoryStore::new(16),
                kept: AtomicUsize::new(0),
            }),
            tickets,
            guard: Arc::new(guard),
        })
    }

    /// Stores the sessions that a server's configuration leaves to the application.
    pub(crate) fn keep(&self, sessions: Vec<NewSession>) {
        for new in sessions {
            self.store.put(&new.id, new.session, new.expires);
        }
    }
}

/// A clock that advances only when a test advances it, so that the age of a ticket is exact.
pub(crate) struct ManualClock {
    seconds: Mutex<u64>,
}

impl ManualClock {
    pub(crate) fn advance(&self, seconds: u64) {
        *open(&self.seconds) += seconds;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixTime {
        at(*open(&self.seconds))
    }
}

/// A client's store for one session, which is offered to every name and configuration, as
/// BoringSSL's shim does.
#[derive(Default)]
pub(crate) struct SingleSessionStore(Mutex<StoredSession>);

#[derive(Default)]
struct StoredSession {
    session: Option<Vec<u8>>,
    /// The session that was taken last. It does not count as new if it is put again.
    taken: Option<Vec<u8>>,
    new: usize,
}

impl SingleSessionStore {
    /// The session that the next connection will offer.
    pub(crate) fn session(&self) -> Option<Vec<u8>> {
        open(&self.0).session.clone()
    }

    /// The cipher suite of that session. A session begins with one byte for its form, then version
    /// and suite of two bytes each.
    pub(crate) fn suite(&self) -> Option<CipherSuite> {
        let [_, _, _, high, low, ..] = self.session()?[..] else { return None };
        Some(CipherSuite(u16::from_be_bytes([high, low])))
    }

    /// The number of new sessions that were put.
    pub(crate) fn count(&self) -> usize {
        open(&self.0).new
    }
}

impl ClientSessionStore for SingleSessionStore {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        let mut client_sessions = open(&self.0);
        if client_sessions.taken.as_ref() != Some(&session) {
            client_sessions.new += 1;
        }
        client_sessions.session = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        let mut client_sessions = open(&self.0);
        client_sessions.taken = client_sessions.session.take();
        client_sessions.taken.clone()
    }
}

/// A store that contains one session, for a connection that ends after its first flight.
pub(crate) struct FixedSession(pub(crate) Vec<u8>);

impl ClientSessionStore for FixedSession {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

/// A server's store that counts the sessions that were put.
pub(crate) struct CountingStore {
    store: ServerMemoryStore,
    kept: AtomicUsize,
}

impl CountingStore {
    pub(crate) fn count(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }
}

impl ServerSessionStore for CountingStore {
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

/// A replay guard that accepts all early data once.
pub(crate) struct SingleUseGuard(ReplayGuard);

impl AdmitEarlyData for SingleUseGuard {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        let expires = at(now.as_secs().saturating_add(FRESH));
        self.0.insert_once(unique, expires, now)
    }

    /// All connections of a test share the guard.
    fn id(&self) -> Option<ReplayGuardId> {
        Some(GUARD)
    }
}

/// The seconds for which a replay could be fresh: the library's window in both directions.
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
    fn a_session_that_is_put_again_is_not_new() {
        let key = ClientSessionKey::new("a.test".try_into().unwrap(), None, [0; 32]);
        let client_store = SingleSessionStore::default();
        client_store.put(&key, b"first".to_vec(), at(0));
        assert_eq!(client_store.take(&key, at(0)).unwrap(), b"first");
        assert_eq!(client_store.session(), None);
        client_store.put(&key, b"first".to_vec(), at(0));
        assert_eq!((client_store.count(), client_store.session().unwrap()), (1, b"first".to_vec()));
        client_store.put(&key, b"second".to_vec(), at(0));
        assert_eq!(
            (client_store.count(), client_store.session().unwrap()),
            (2, b"second".to_vec())
        );
    }

    #[test]
    fn early_data_is_accepted_once() {
        let sessions = Sessions::new(&[]).unwrap();
        let now = sessions.clock.now();
        assert!(sessions.guard.admit_early_data(b"binder", now));
        assert!(!sessions.guard.admit_early_data(b"binder", now));
        assert!(sessions.guard.admit_early_data(b"another", now));
    }
}
