//! One map in many parts, each behind a lock of its own.
//!
//! For: threads that seldom meet. Must not know: what is in a part. Next: [`super::store`].

use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::PoisonError;

use crate::sync::lock::{Mutex, MutexGuard};

/// Parts chosen by a keyed hash, so that no peer can choose ids that crowd one part.
pub(super) struct Shards<T> {
    /// A power of two.
    parts: Box<[Mutex<T>]>,
    hasher: RandomState,
}

impl<T> Shards<T> {
    /// Splits room for `capacity` things; `part` makes one part with the room it is given.
    pub(super) fn new(capacity: usize, part: impl Fn(usize) -> T) -> Self {
        // With some room in each part an uneven spread costs little of it.
        let shift = (capacity / LEAST_ROOM).clamp(1, MOST_PARTS).ilog2();
        let parts = (0..1_usize << shift).map(|_| Mutex::new(part(capacity >> shift)));
        Self { parts: parts.collect(), hasher: RandomState::new() }
    }

    /// The keyed hash of an id, good for a map in its part too, see [`AsIs`].
    pub(super) fn hash(&self, id: &[u8]) -> u64 {
        self.hasher.hash_one(id)
    }

    /// The part that an id of this hash belongs to; `None` never happens, for there is at least one part.
    pub(super) fn lock(&self, hash: u64) -> Option<MutexGuard<'_, T>> {
        // Maps look at the first bits and at the last ones.
        let [_, _, byte, ..] = hash.to_be_bytes();
        let at = usize::from(byte) & self.parts.len().saturating_sub(1);
        // Nothing panics while it holds a lock, and each change leaves a part as it should be.
        Some(self.parts.get(at)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.parts.iter().map(|part| part.lock().unwrap())
    }
}

/// For maps whose keys are hashes.
pub(super) type AsIs = BuildHasherDefault<Hash>;

/// What [`AsIs`] makes of a key: itself.
#[derive(Default)]
pub(super) struct Hash(u64);

impl Hasher for Hash {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// For keys of another kind, of which there are none.
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

const LEAST_ROOM: usize = 128;
const MOST_PARTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_add_up_to_no_more_than_the_capacity() {
        for (capacity, parts) in [(0, 1), (1, 1), (255, 1), (256, 2), (8192, 64), (100_000, 64)] {
            let shards = Shards::new(capacity, |room| room);
            assert_eq!(shards.parts.len(), parts);
            let rooms: usize = shards.all().map(|room| *room).sum();
            assert!(rooms <= capacity && rooms + parts > capacity);
        }
    }

    #[test]
    fn an_id_always_finds_its_part_and_ids_spread() {
        let shards = Shards::new(8192, |_| 0_u32);
        let part = |id: &[u8]| shards.lock(shards.hash(id)).unwrap();
        for id in 0..6400_u32 {
            *part(&id.to_be_bytes()) += 1;
        }
        assert!(shards.all().all(|count| (40..200).contains(&*count)));
        for _ in 0..10 {
            *part(b"id") += 1000;
        }
        assert_eq!(shards.all().filter(|count| **count > 9000).count(), 1);
    }
}
