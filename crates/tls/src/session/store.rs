//! Sessions that a server keeps itself, under ids it gives to clients.
//!
//! For: resumption by session id in TLS 1.2, and by tickets that are mere ids in TLS 1.3. Must not know:
//! what is in a session. Next: `ticket/`, for servers that would rather keep nothing.

use core::fmt;
use core::mem;

use pki_types::UnixTime;
use zeroize::Zeroizing;

use super::aged::Aged;
use super::kept::Kept;
use super::shards::Shards;

/// Where a server keeps sessions.
pub trait SessionStore: Send + Sync {
    /// Keeps `session` under `id` until `expires`, in place of what was there.
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime);

    /// Takes the session out, so that among all who ask one gets it. For what may be used once.
    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// The session, which stays. For session ids of TLS 1.2.
    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Forgets the session, as after a fatal alert. RFC 5246 7.2.2
    fn remove(&self, id: &[u8]);
}

/// A [`SessionStore`] in memory, for one process.
///
/// Its number of sessions is bounded: when it is full, the oldest of those that share the newcomer's part of
/// the store makes room. Sessions are wiped when they go.
pub struct MemoryStore {
    parts: Shards<Part>,
    capacity: usize,
}

type Part = Aged<[u8], Kept<Zeroizing<Vec<u8>>>>;

impl MemoryStore {
    /// Room for `capacity` sessions at most.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { parts: Shards::new(capacity, Part::new), capacity }
    }

    /// Runs `action` on the part of `id`, after what expired there first has gone.
    fn in_part<T>(
        &self,
        id: &[u8],
        now: UnixTime,
        action: impl FnOnce(&mut Part) -> Option<T>,
    ) -> Option<T> {
        let mut part = self.parts.lock(id)?;
        // Few at a time, so that nobody waits for long.
        for _ in 0..SWEEP {
            if part.oldest().is_none_or(|kept| kept.is_fresh(now)) {
                break;
            }
            part.remove_oldest();
        }
        action(&mut part)
    }
}

impl SessionStore for MemoryStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        if let Some(mut part) = self.parts.lock(id) {
            part.insert(id.into(), Kept::new(Zeroizing::new(session), expires));
        }
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let kept = self.in_part(id, now, |part| part.remove(id))?;
        // Wiping it is the caller's business from here on.
        kept.is_fresh(now).then(|| mem::take(&mut *kept.into_session()))
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.in_part(id, now, |part| {
            let kept = part.get(id)?;
            kept.is_fresh(now).then(|| kept.session().to_vec())
        })
    }

    fn remove(&self, id: &[u8]) {
        if let Some(mut part) = self.parts.lock(id) {
            part.remove(id);
        }
    }
}

impl Default for MemoryStore {
    /// Room for 16,384 sessions: some 6 MB if no client shows a certificate.
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
    use std::time::Duration;

    use super::*;

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

    #[test]
    fn debug_shows_no_session() {
        let store = MemoryStore::new(10);
        store.put(b"id", b"session".to_vec(), at(100));
        assert_eq!(format!("{store:?}"), "MemoryStore { capacity: 10, .. }");
    }
}
