//! A server's session store in memory.

use core::time::Duration;

use pki_types::UnixTime;

use super::lru_map::LruMap;
use super::session::server_session::ServerSession;
use super::session::store::ServerSessionStore;
use super::shards::{BuildIdentityHasher, Shards};
use super::store_entry::{Encoding, StoreEntry, max_bytes};

/// A [`ServerSessionStore`] in memory, for one process.
///
/// The number of sessions is limited, and their bytes to 8 KiB for each session, because clients
/// decide about the length of their certificates. The store is divided into shards; if a shard is
/// full, its oldest sessions are evicted. Removed sessions are zeroized.
///
/// ```
/// use std::sync::Arc;
/// use tercel::{Credential, Policy, ServerConfig, error::ConfigError, session::ServerMemoryStore};
///
/// fn config(credential: Credential) -> Result<Arc<ServerConfig>, ConfigError> {
///     let store = Policy::Here(Arc::new(ServerMemoryStore::new(10_000)) as _);
///     ServerConfig::builder().credential(credential).session_store(store).build()
/// }
/// ```
pub struct ServerMemoryStore {
    shards: Shards<Shard>,
    capacity: usize,
}

/// A map of sessions by the hash of their ID. The map stores one session per hash. Collisions are
/// detected by the stored ID.
type Shard = LruMap<u64, StoreEntry<IdentifiedSession>, BuildIdentityHasher>;

struct IdentifiedSession {
    id: Box<[u8]>,
    session: Encoding<ServerSession>,
}

impl ServerMemoryStore {
    /// Creates a store for at most `capacity` sessions.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { shards: Shards::new(capacity, |room| Shard::new(room, max_bytes(room))), capacity }
    }

    fn insert(&self, id: &[u8], session: Encoding<ServerSession>, expires: UnixTime) {
        let hash = self.shards.hash(id);
        let bytes = session.max_encoded_length();
        let entry = StoreEntry { session: IdentifiedSession { id: id.into(), session }, expires };
        if let Some(mut shard) = self.shards.lock(hash) {
            shard.insert(hash, entry, bytes);
        }
    }

    /// Returns a copy of the session with this ID, unless it has expired. Encoding and decoding
    /// take place outside the lock.
    fn copy(&self, id: &[u8], now: UnixTime) -> Option<Encoding<ServerSession>> {
        self.with_shard(id, now, |shard, hash| {
            let entry = shard.get(&hash).filter(|entry| entry.is_unexpired(now))?;
            Some(entry.session.session.clone())
        })
    }

    /// Removes the session with this ID and returns it, unless it has expired.
    fn take_out(&self, id: &[u8], now: UnixTime) -> Option<Encoding<ServerSession>> {
        let entry = self.with_shard(id, now, |shard, hash| shard.remove(&hash))?;
        entry.is_unexpired(now).then_some(entry.session.session)
    }

    /// Removes some expired sessions from the shard of this ID, and then runs `action` on the shard
    /// if it contains the ID.
    fn with_shard<T>(
        &self,
        id: &[u8],
        now: UnixTime,
        action: impl FnOnce(&mut Shard, u64) -> Option<T>,
    ) -> Option<T> {
        let hash = self.shards.hash(id);
        let mut shard = self.shards.lock(hash)?;
        // The number is limited, so that other threads do not wait long for the lock.
        for _ in 0..EXPIRED_PER_ACCESS {
            if shard.oldest().is_none_or(|entry| entry.is_unexpired(now)) {
                break;
            }
            shard.remove_oldest();
        }
        shard.get(&hash).filter(|entry| *entry.session.id == *id)?;
        action(&mut shard, hash)
    }
}

impl ServerSessionStore for ServerMemoryStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.insert(id, Encoding::bytes(session), expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.take_out(id, now)?.into_bytes()
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.copy(id, now)?.into_bytes()
    }

    fn remove(&self, id: &[u8]) {
        self.with_shard(id, UnixTime::since_unix_epoch(Duration::ZERO), |shard, hash| {
            shard.remove(&hash)
        });
    }

    fn put_session(&self, id: &[u8], session: ServerSession, expires: UnixTime) {
        self.insert(id, Encoding::Value(session), expires);
    }

    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<ServerSession> {
        self.copy(id, now)?.into_value()
    }

    fn claim(&self, id: &[u8], now: UnixTime) -> bool {
        self.take_out(id, now).is_some()
    }
}

impl Default for ServerMemoryStore {
    /// Creates a store for 16,384 sessions, which take about 16 MB if all are resumed and no client
    /// presents a certificate.
    fn default() -> Self {
        Self::new(16_384)
    }
}

debug_fields!(ServerMemoryStore: capacity);

/// The number of expired sessions removed per access. An access inserts at most one session, so the
/// number of expired sessions decreases.
const EXPIRED_PER_ACCESS: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tercel_crypto::Secret;
    use tercel_wire::CipherSuite;

    use super::*;
    use crate::keys::suite;
    use crate::resumption::session::Session;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn count(store: &ServerMemoryStore) -> usize {
        store.shards.all().map(|shard| shard.iter().count()).sum()
    }

    #[test]
    fn a_session_is_taken_once_and_read_any_number_of_times() {
        let store = ServerMemoryStore::new(10);
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
        let store = ServerMemoryStore::new(10);
        store.put(b"id", b"first".to_vec(), at(100));
        store.put(b"id", b"second".to_vec(), at(100));
        assert_eq!(count(&store), 1);
        assert_eq!(store.get(b"id", at(1)).unwrap(), b"second");
        store.remove(b"id");
        store.remove(b"id");
        assert_eq!((store.get(b"id", at(1)), count(&store)), (None, 0));
    }

    #[test]
    fn sessions_expire_at_the_exact_second() {
        for look in [ServerMemoryStore::take, ServerMemoryStore::get] {
            let store = ServerMemoryStore::new(10);
            store.put(b"id", b"s".to_vec(), at(100));
            assert_eq!(look(&store, b"id", at(100)), None);
            store.put(b"id", b"s".to_vec(), at(100));
            assert!(look(&store, b"id", at(99)).is_some());
        }
    }

    #[test]
    fn expired_sessions_are_removed_by_other_accesses() {
        let store = ServerMemoryStore::new(100);
        for id in 0..100_u8 {
            store.put(&[id], b"s".to_vec(), at(100));
        }
        for _ in 0..100 / EXPIRED_PER_ACCESS {
            assert_eq!(store.get(b"absent", at(100)), None);
        }
        assert_eq!(count(&store), 0);
    }

    #[test]
    fn the_number_of_sessions_is_limited_and_the_oldest_are_evicted() {
        let store = ServerMemoryStore::new(100);
        for id in 0..=255_u8 {
            store.put(&[id], vec![id], at(100));
            assert!(count(&store) <= 100);
        }
        assert_eq!(store.get(&[155], at(1)), None);
        assert!((156..=255).all(|id| store.get(&[id], at(1)).is_some_and(|s| s == [id])));

        let store = ServerMemoryStore::new(1000);
        for id in 0..5000_u32 {
            store.put(&id.to_be_bytes(), vec![], at(100));
        }
        assert!((900..=1000).contains(&count(&store)));
    }

    /// Clients decide about the length of their certificates.
    #[test]
    fn the_bytes_of_all_sessions_are_limited() {
        let store = ServerMemoryStore::new(1000);
        for id in 0..1000_u32 {
            store.put(&id.to_be_bytes(), vec![7; 60_000], at(100));
        }
        assert!((100..=1000 * 8192 / 60_000).contains(&count(&store)), "{}", count(&store));
        assert!(store.get(&999_u32.to_be_bytes(), at(1)).is_some(), "the newest is there");
        // A small store keeps one session of any length.
        let store = ServerMemoryStore::new(1);
        store.put(b"id", vec![7; 200_000], at(100));
        assert!(store.get(b"id", at(1)).is_some());
    }

    #[test]
    fn concurrent_takes_return_a_session_once() {
        let store = ServerMemoryStore::default();
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

    /// Creates a session as a handshake does.
    fn session(lifetime: u32) -> ServerSession {
        let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
        let mut session = Session::new(suite, 1, None);
        session.secret = Secret::new(&[5; 48]);
        session.lifetime = lifetime;
        ServerSession::new(session)
    }

    #[test]
    fn a_value_and_its_bytes_are_the_same_session() {
        let bytes = session(9).to_bytes().unwrap();
        let store = ServerMemoryStore::new(10);
        let put: [fn(&ServerMemoryStore); 2] = [
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

    /// A store that implements only the methods for bytes.
    struct BytesOnlyStore(ServerMemoryStore);

    impl ServerSessionStore for BytesOnlyStore {
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
    fn a_store_without_the_methods_for_values_gets_bytes() {
        let bytes = session(9).to_bytes().unwrap();
        let store = BytesOnlyStore(ServerMemoryStore::new(10));
        store.put_session(b"id", session(9), at(100));
        assert_eq!(store.0.get(b"id", at(1)), Some(bytes.clone()));
        assert_eq!(store.get_session(b"id", at(1)).unwrap().to_bytes(), Some(bytes.clone()));
        assert!(store.claim(b"id", at(1)) && !store.claim(b"id", at(1)));
        store.put(b"id", bytes[1..].to_vec(), at(100));
        assert!(store.get_session(b"id", at(1)).is_none(), "damaged");
    }

    #[test]
    fn ids_with_the_same_hash_are_distinguished() {
        let store = ServerMemoryStore::new(10);
        let hash = store.shards.hash(b"mine");
        let other =
            IdentifiedSession { id: (*b"yours").into(), session: Encoding::bytes(b"s".to_vec()) };
        store.shards.lock(hash).unwrap().insert(
            hash,
            StoreEntry { session: other, expires: at(100) },
            1,
        );
        assert_eq!((store.get(b"mine", at(1)), store.take(b"mine", at(1))), (None, None));
        store.remove(b"mine");
        assert_eq!(count(&store), 1);
    }

    #[test]
    fn debug_shows_no_session() {
        let store = ServerMemoryStore::new(10);
        store.put(b"id", b"session".to_vec(), at(100));
        assert_eq!(format!("{store:?}"), "ServerMemoryStore { capacity: 10, .. }");
    }
}
