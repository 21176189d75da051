//! A collection that is divided into shards with a lock each, which reduces contention.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::PoisonError;

use crate::sync::lock::{Mutex, MutexGuard};

/// The shards. A keyed hash selects the shard, so that a peer cannot choose many IDs of one shard.
pub(super) struct Shards<T> {
    /// The shards, whose number is a power of two.
    shards: Box<[Mutex<T>]>,
    hasher: RandomState,
}

impl<T> Shards<T> {
    /// Divides `capacity` among shards. `shard` creates a shard with the given capacity.
    pub(super) fn new(capacity: usize, shard: impl Fn(usize) -> T) -> Self {
        // Because of the minimum capacity per shard, an uneven distribution wastes little capacity.
        let shift = (capacity / MIN_CAPACITY).clamp(1, MAX_SHARDS).ilog2();
        let shards = (0..1_usize << shift).map(|_| Mutex::new(shard(capacity >> shift)));
        Self { shards: shards.collect(), hasher: RandomState::new() }
    }

    /// Returns the keyed hash of an ID. A map in the shard can also use it as its own hash, see
    /// [`BuildIdentityHasher`].
    pub(super) fn hash(&self, id: &[u8]) -> u64 {
        self.hasher.hash_one(id)
    }

    /// Locks the shard of this hash. The result is never `None`, since there is at least one shard.
    pub(super) fn lock(&self, hash: u64) -> Option<MutexGuard<'_, T>> {
        // Hash maps use the highest and the lowest bits, so other bits select the shard.
        let [_, _, byte, ..] = hash.to_be_bytes();
        let at = usize::from(byte) & self.shards.len().saturating_sub(1);
        // No code panics while it holds a lock, so the shard is always consistent.
        Some(self.shards.get(at)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.shards.iter().map(|shard| shard.lock().unwrap())
    }
}

/// The hasher of maps whose keys are already hashes.
pub(super) type BuildIdentityHasher = BuildHasherDefault<IdentityHasher>;

/// A hasher that returns a `u64` key as its own hash.
#[derive(Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// The trait requires this method, but it is not called, since keys are `u64`.
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

const MIN_CAPACITY: usize = 128;
const MAX_SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacities_of_shards_do_not_exceed_the_total() {
        for (capacity, count) in [(0, 1), (1, 1), (255, 1), (256, 2), (8192, 64), (100_000, 64)] {
            let shards = Shards::new(capacity, |room| room);
            assert_eq!(shards.shards.len(), count);
            let rooms: usize = shards.all().map(|room| *room).sum();
            assert!(rooms <= capacity && rooms + count > capacity);
        }
    }

    #[test]
    fn an_id_always_has_the_same_shard_and_ids_are_distributed() {
        let shards = Shards::new(8192, |_| 0_u32);
        let shard = |id: &[u8]| shards.lock(shards.hash(id)).unwrap();
        for id in 0..6400_u32 {
            *shard(&id.to_be_bytes()) += 1;
        }
        assert!(shards.all().all(|count| (40..200).contains(&*count)));
        for _ in 0..10 {
            *shard(b"id") += 1000;
        }
        assert_eq!(shards.all().filter(|count| **count > 9000).count(), 1);
    }
}
