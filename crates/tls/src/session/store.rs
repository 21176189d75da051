//! Sessions that a server keeps itself, under ids it gives to clients.
//!
//! For: resumption by session id in TLS 1.2, and by tickets that are mere ids in TLS 1.3. Must not know:
//! what is in a session. Next: `ticket/`, for servers that would rather keep nothing.

use core::fmt;
use core::time::Duration;

use pki_types::UnixTime;

use super::aged::Aged;
use super::form::Form;
use super::kept::Kept;
use super::server_value::ServerSession;
use super::shards::{AsIs, Shards};

/// Where a server keeps sessions.
pub trait SessionStore: Send + Sync {
    /// Keeps `session` under `id` until `expires`, in place of what was there.
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime);

    /// Takes the session out, so that among all who ask one gets it. For what may be used once.
    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// The session, which stays. For session ids of TLS 1.2.
    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Forgets the session, as after a fatal alert on a connection of TLS 1.2. RFC 5246 7.2.2
    fn remove(&self, id: &[u8]);

    /// [`Self::put`] for a store that can keep the value itself. By default its bytes are put.
    fn put_session(&self, id: &[u8], session: ServerSession, expires: UnixTime) {
        if let Some(bytes) = session.to_bytes() {
            self.put(id, bytes, expires);
        }
    }

    /// [`Self::get`] for a store that can keep the value itself. By default it is made of the bytes, which are then
    /// wiped.
    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<ServerSession> {
        let mut bytes = self.get(id, now)?;
        let session = ServerSession::from_bytes(&bytes);
        tercel_crypto::wipe(&mut bytes);
        session
    }

    /// [`Self::take`] for who has the session already and asks whether nobody else gets it. By default it is taken,
    /// and wiped.
    fn claim(&self, id: &[u8], now: UnixTime) -> bool {
        let taken = self.take(id, now);
        taken.map(|mut bytes| tercel_crypto::wipe(&mut bytes)).is_some()
    }
}

/// Is told which sessions are to be forgotten, where an application keeps them that is asked for them
/// ([`Policy::Ask`](crate::Policy::Ask)). RFC 5246 7.2.2
pub trait ForgetSession: Send + Sync {
    /// A connection of TLS 1.2 whose session has this id ended with a fatal alert: nobody is to resume it any more.
    ///
    /// This is called wherever the alert is sent or received, by either half of a connection, and nobody should wait
    /// there: a store that is elsewhere is told by a channel or a task.
    fn forget_session(&self, id: &[u8; 32]);
}

impl<F: Fn(&[u8; 32]) + Send + Sync> ForgetSession for F {
    fn forget_session(&self, id: &[u8; 32]) {
        self(id);
    }
}

/// A [`SessionStore`] in memory, for one process.
///
/// Its number of sessions is bounded: when it is full, the oldest of those that share the newcomer's part of
/// the store makes room. Sessions are wiped when they go.
pub struct MemoryStore {
    parts: Shards<Part>,
    capacity: usize,
}

/// By the hashes of ids: to look at each id is enough to tell those of one hash apart, of which there is room for one.
type Part = Aged<u64, Kept<Named>, AsIs>;

struct Named {
    id: Box<[u8]>,
    session: Form<ServerSession>,
}

impl MemoryStore {
    /// Room for `capacity` sessions at most.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { parts: Shards::new(capacity, Part::new), capacity }
    }

    fn keep(&self, id: &[u8], session: Form<ServerSession>, expires: UnixTime) {
        let hash = self.parts.hash(id);
        let kept = Kept::new(Named { id: id.into(), session }, expires);
        if let Some(mut part) = self.parts.lock(hash) {
            part.insert(hash, kept);
        }
    }

    /// The session of that id, if it is fresh, which stays. Nothing is read or written under the lock.
    fn share(&self, id: &[u8], now: UnixTime) -> Option<Form<ServerSession>> {
        self.in_part(id, now, |part, hash| {
            let kept = part.get(&hash).filter(|kept| kept.is_fresh(now))?;
            Some(kept.session().session.clone())
        })
    }

    /// The session of that id, if it is fresh, which it leaves.
    fn take_out(&self, id: &[u8], now: UnixTime) -> Option<Form<ServerSession>> {
        let kept = self.in_part(id, now, |part, hash| part.remove(&hash))?;
        kept.is_fresh(now).then(|| kept.into_session().session)
    }

    /// Runs `action` on the part that has this id, after what expired there first has gone.
    fn in_part<T>(
        &self,
        id: &[u8],
        now: UnixTime,
        action: impl FnOnce(&mut Part, u64) -> Option<T>,
    ) -> Option<T> {
        let hash = self.parts.hash(id);
        let mut part = self.parts.lock(hash)?;
        // Few at a time, so that nobody waits for long.
        for _ in 0..SWEEP {
            if part.oldest().is_none_or(|kept| kept.is_fresh(now)) {
                break;
            }
            part.remove_oldest();
        }
        part.get(&hash).filter(|kept| *kept.session().id == *id)?;
        action(&mut part, hash)
    }
}

impl SessionStore for MemoryStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.keep(id, Form::bytes(session), expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.take_out(id, now)?.into_bytes()
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.share(id, now)?.into_bytes()
    }

    fn remove(&self, id: &[u8]) {
        self.in_part(id, UnixTime::since_unix_epoch(Duration::ZERO), |part, hash| {
            part.remove(&hash)
        });
    }

    fn put_session(&self, id: &[u8], session: ServerSession, expires: UnixTime) {
        self.keep(id, Form::Value(session), expires);
    }

    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<ServerSession> {
        self.share(id, now)?.into_value()
    }

    fn claim(&self, id: &[u8], now: UnixTime) -> bool {
        self.take_out(id, now).is_some()
    }
}

impl Default for MemoryStore {
    /// Room for 16,384 sessions: some 16 MB if all are resumed and no client shows a certificate.
    fn default() -> Self {
        Self::new(16_384)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// More leave at a visit than can come at one, so what has expired gets fewer.
const SWEEP: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tercel_crypto::Secret;
    use tercel_wire::{CipherSuite, ProtocolVersion};

    use super::*;
    use crate::connection::facts::Facts;
    use crate::keys::suite;
    use crate::session::state::Session;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn count(store: &MemoryStore) -> usize {
        store.parts.all().map(|part| part.iter().count()).sum()
    }

    #[test]
    fn taking_is_once_and_getting_is_often() {
        let store = MemoryStore::new(10);
        store.put(b"id", b"session".to_vec(), at(100));
        assert_eq!(store.get(b"id", at(1)).unwrap(), b"session");
        assert_eq!(store.get(b"id", at(1)).unwrap(), b"session");
        assert_eq!(store.get(b"di", at(1)), None);
        assert_eq!(store.take(b"id", at(1)).unwrap(), b"session");
        assert_eq!(store.take(b"id", at(1)), None);
        assert_eq!(store.get(b"id", at(1)), None);
    }

    #[test]
    fn a_session_is_replaced_and_removed_by_its_id() {
        let store = MemoryStore::new(10);
        store.put(b"id", b"first".to_vec(), at(100));
        store.put(b"id", b"second".to_vec(), at(100));
        assert_eq!(count(&store), 1);
        assert_eq!(store.get(b"id", at(1)).unwrap(), b"second");
        store.remove(b"id");
        store.remove(b"id");
        assert_eq!((store.get(b"id", at(1)), count(&store)), (None, 0));
    }

    #[test]
    fn sessions_expire_to_the_second() {
        for look in [MemoryStore::take, MemoryStore::get] {
            let store = MemoryStore::new(10);
            store.put(b"id", b"s".to_vec(), at(100));
            assert_eq!(look(&store, b"id", at(100)), None);
            store.put(b"id", b"s".to_vec(), at(100));
            assert!(look(&store, b"id", at(99)).is_some());
        }
    }

    #[test]
    fn what_expired_goes_without_being_asked_for() {
        let store = MemoryStore::new(100);
        for id in 0..100_u8 {
            store.put(&[id], b"s".to_vec(), at(100));
        }
        for _ in 0..100 / SWEEP {
            assert_eq!(store.get(b"absent", at(100)), None);
        }
        assert_eq!(count(&store), 0);
    }

    #[test]
    fn the_number_of_sessions_is_bounded_and_the_oldest_go_first() {
        let store = MemoryStore::new(100);
        for id in 0..=255_u8 {
            store.put(&[id], vec![id], at(100));
            assert!(count(&store) <= 100);
        }
        assert_eq!(store.get(&[155], at(1)), None);
        assert!((156..=255).all(|id| store.get(&[id], at(1)).is_some_and(|s| s == [id])));

        let store = MemoryStore::new(1000);
        for id in 0..5000_u32 {
            store.put(&id.to_be_bytes(), vec![], at(100));
        }
        assert!((900..=1000).contains(&count(&store)));
    }

    #[test]
    fn of_many_takers_one_gets_the_session() {
        let store = MemoryStore::default();
        let ids: Vec<_> = (0..500_u32).map(u32::to_be_bytes).collect();
        for id in &ids {
            store.put(id, id.to_vec(), at(100));
        }
        let taken = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mine = ids.iter().filter(|id| store.take(*id, at(1)).is_some()).count();
                    taken.fetch_add(mine, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(taken.into_inner(), 500);
    }

    /// A session as the handshakes make them.
    fn session(lifetime: u32) -> ServerSession {
        let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
        let facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
        let mut session = Session::of(suite, &facts, 1, None);
        session.secret = Secret::new(&[5; 48]);
        session.lifetime = lifetime;
        ServerSession::new(session)
    }

    #[test]
    fn a_value_and_its_bytes_are_the_same_session() {
        let bytes = session(9).to_bytes().unwrap();
        let store = MemoryStore::new(10);
        let put: [fn(&MemoryStore); 2] = [
            |store| store.put_session(b"id", session(9), at(100)),
            |store| store.put(b"id", session(9).to_bytes().unwrap(), at(100)),
        ];
        for put in put {
            put(&store);
            for _ in 0..2 {
                let shared = store.get_session(b"id", at(99)).unwrap();
                assert_eq!(shared.to_bytes().unwrap(), bytes);
                assert_eq!(store.get(b"id", at(99)).unwrap(), bytes);
            }
            assert!(store.get_session(b"id", at(100)).is_none(), "used when it had expired");
            put(&store);
            assert_eq!(store.take(b"id", at(99)).unwrap(), bytes);
            put(&store);
            assert!(store.claim(b"id", at(99)) && !store.claim(b"id", at(99)));
            assert!(store.get_session(b"id", at(99)).is_none());
            put(&store);
            assert!(!store.claim(b"id", at(100)));
        }
        assert_eq!(format!("{:?}", session(9)), "ServerSession { .. }");
    }

    /// A store that knows nothing of values.
    struct BytesAlone(MemoryStore);

    impl SessionStore for BytesAlone {
        fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
            self.0.put(id, session, expires);
        }

        fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
            self.0.take(id, now)
        }

        fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
            self.0.get(id, now)
        }

        fn remove(&self, id: &[u8]) {
            self.0.remove(id);
        }
    }

    #[test]
    fn a_store_of_bytes_alone_gets_bytes() {
        let bytes = session(9).to_bytes().unwrap();
        let store = BytesAlone(MemoryStore::new(10));
        store.put_session(b"id", session(9), at(100));
        assert_eq!(store.0.get(b"id", at(1)), Some(bytes.clone()));
        assert_eq!(store.get_session(b"id", at(1)).unwrap().to_bytes(), Some(bytes.clone()));
        assert!(store.claim(b"id", at(1)) && !store.claim(b"id", at(1)));
        store.put(b"id", bytes[1..].to_vec(), at(100));
        assert!(store.get_session(b"id", at(1)).is_none(), "damaged");
    }

    #[test]
    fn an_id_of_the_same_hash_is_another_id() {
        let store = MemoryStore::new(10);
        let hash = store.parts.hash(b"mine");
        let named = Named { id: (*b"yours").into(), session: Form::bytes(b"s".to_vec()) };
        store.parts.lock(hash).unwrap().insert(hash, Kept::new(named, at(100)));
        assert_eq!((store.get(b"mine", at(1)), store.take(b"mine", at(1))), (None, None));
        store.remove(b"mine");
        assert_eq!(count(&store), 1);
    }

    #[test]
    fn debug_shows_no_session() {
        let store = MemoryStore::new(10);
        store.put(b"id", b"session".to_vec(), at(100));
        assert_eq!(format!("{store:?}"), "MemoryStore { capacity: 10, .. }");
    }
}
