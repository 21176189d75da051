//! A cache of the subkeys that opened a ticket.
//!
//! Readers take no lock, and write only a reference count to shared memory. The size of the cache
//! is limited.

use std::sync::Arc;

use super::Id;
use crate::resumption::tickets::sealing::TicketAead;
use crate::resumption::tickets::swap::Swap;

/// A small map of subkeys. It is copied for each change, since every resumption reads it, and it
/// changes only when a process of the fleet seals tickets under a new subkey.
pub(super) struct OpeningSubkeys {
    /// The entries, sorted by `id`.
    entries: Swap<Vec<Entry>>,
    capacity: usize,
}

#[derive(Clone)]
struct Entry {
    id: Id,
    key: Arc<TicketAead>,
    /// The position in the order of insertion: larger than that of all earlier entries.
    order: u64,
}

impl OpeningSubkeys {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: Swap::new(Vec::new()), capacity }
    }

    pub(super) fn find(&self, id: &Id) -> Option<Arc<TicketAead>> {
        let entries = self.entries.load();
        let at = entries.binary_search_by(|entry| entry.id.cmp(id)).ok()?;
        entries.get(at).map(|entry| Arc::clone(&entry.key))
    }

    /// Inserts a subkey that opened a ticket, and evicts the oldest subkey if the cache is full. If
    /// another thread inserts a subkey at the same time, this one is dropped and will be derived
    /// again.
    pub(super) fn insert(&self, id: &Id, key: TicketAead) {
        let entries = self.entries.load();
        let Err(mut place) = entries.binary_search_by(|entry| entry.id.cmp(id)) else { return };
        let mut changed = Vec::with_capacity(self.capacity.min(entries.len().saturating_add(1)));
        changed.extend(entries.iter().cloned());
        if changed.len() >= self.capacity {
            let oldest = changed.iter().enumerate().min_by_key(|(_, entry)| entry.order);
            let Some((oldest, _)) = oldest else { return };
            changed.remove(oldest);
            place = place.saturating_sub(usize::from(oldest < place));
        }
        let order =
            entries.iter().map(|entry| entry.order).max().map_or(0, |last| last.wrapping_add(1));
        changed.insert(place, Entry { id: *id, key: Arc::new(key), order });
        self.entries.replace(&entries, changed);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.load().len()
    }

    /// Returns the result of [`Swap::changes`].
    #[cfg(test)]
    pub(super) fn changes(&self) -> (usize, usize) {
        self.entries.changes()
    }
}

#[cfg(test)]
mod tests {
    use tercel_crypto::AeadAlgorithm;

    use super::*;
    use crate::resumption::tickets::sealing::SealingKey;

    fn insert(subkeys: &OpeningSubkeys, first: u8) {
        subkeys.insert(&id(first), key(first));
    }

    fn key(first: u8) -> TicketAead {
        TicketAead::new(AeadAlgorithm::Aes256Gcm, &[first; 32]).unwrap()
    }

    fn id(first: u8) -> Id {
        let mut id = [0; 32];
        id[0] = first;
        id
    }

    #[test]
    fn each_subkey_is_found_by_its_id() {
        let subkeys = OpeningSubkeys::new(8);
        for first in [5, 1, 7, 3] {
            insert(&subkeys, first);
        }
        for first in [1, 3, 5, 7] {
            let sealed = SealingKey::new(key(first), 1, 1).seal(b"", b"", b"s");
            let found = subkeys.find(&id(first)).unwrap();
            assert_eq!(found.open(b"", &sealed.unwrap()).unwrap(), b"s");
            assert!(subkeys.find(&id(first + 1)).is_none());
        }
    }

    #[test]
    fn the_oldest_subkey_is_evicted_from_any_position() {
        for order in [[1, 5, 9, 3], [9, 5, 1, 3], [5, 1, 9, 3], [5, 1, 9, 11]] {
            let subkeys = OpeningSubkeys::new(3);
            for first in order {
                insert(&subkeys, first);
            }
            assert_eq!(subkeys.len(), 3);
            assert!(subkeys.find(&id(order[0])).is_none(), "{order:?}");
            assert!(order[1..].iter().all(|first| subkeys.find(&id(*first)).is_some()));
        }
    }

    #[test]
    fn a_subkey_inserted_twice_is_stored_once() {
        let subkeys = OpeningSubkeys::new(3);
        insert(&subkeys, 1);
        insert(&subkeys, 1);
        assert_eq!(subkeys.len(), 1);
    }

    #[test]
    fn no_subkey_is_stored_without_capacity() {
        let subkeys = OpeningSubkeys::new(0);
        insert(&subkeys, 1);
        assert_eq!(subkeys.len(), 0);
    }
}
