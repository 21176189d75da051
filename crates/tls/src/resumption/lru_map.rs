//! A map that is limited in entries and in bytes, and evicts the oldest entry. Operations take
//! amortized constant time.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};

/// A map whose keys are in the order of insertion or renewal. Each key is stored three times: in
/// `order`, as key of the map, and in its entry.
pub(super) struct LruMap<K, V, S = RandomState> {
    entries: HashMap<K, Entry<K, V>, S>,
    /// The keys, oldest first. Removed and renewed keys remain for a while as stale items. The
    /// number in a stale item differs from the number in the entry of the key.
    order: VecDeque<(u64, K)>,
    next: u64,
    capacity: usize,
    /// The number of bytes of all values, as the caller counts them, and its limit.
    bytes: usize,
    max_bytes: usize,
}

struct Entry<K, V> {
    key: K,
    value: V,
    number: u64,
    bytes: usize,
}

impl<K: Clone + Hash + Eq, V, S: BuildHasher + Default> LruMap<K, V, S> {
    pub(super) fn new(capacity: usize, max_bytes: usize) -> Self {
        let (entries, order) = (HashMap::default(), VecDeque::new());
        Self { entries, order, next: 0, capacity, bytes: 0, max_bytes }
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// Inserts `value`, which has this number of bytes, as the newest entry. An old value of the
    /// key is replaced. A value that exceeds the limit alone is not stored.
    pub(super) fn insert(&mut self, key: K, value: V, bytes: usize) {
        self.remove(&key);
        if self.capacity == 0 || bytes > self.max_bytes {
            return;
        }
        let number = self.number();
        self.order.push_back((number, key.clone()));
        self.entries.insert(key.clone(), Entry { key, value, number, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        self.evict();
        self.compact();
    }

    /// Changes the value of `key`, if it is present. `change` returns the new number of bytes, and
    /// a result. Other entries are evicted if there are too many bytes, the oldest first.
    pub(super) fn change<Q, R>(
        &mut self,
        key: &Q,
        change: impl FnOnce(&mut V) -> (usize, R),
    ) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.get_mut(key)?;
        let (bytes, result) = change(&mut entry.value);
        self.bytes = self.bytes.saturating_sub(entry.bytes).saturating_add(bytes);
        entry.bytes = bytes;
        self.evict();
        Some(result)
    }

    fn evict(&mut self) {
        while self.entries.len() > self.capacity || self.bytes > self.max_bytes {
            if self.remove_oldest().is_none() {
                return;
            }
        }
    }

    /// Makes the entry of `key` the newest, if it is present, and changes its value as
    /// [`Self::change`] does.
    pub(super) fn renew<Q>(&mut self, key: &Q, change: impl FnOnce(&mut V) -> usize) -> Option<()>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.compact();
        let newest = self.next;
        let entry = self.entries.get_mut(key)?;
        // An entry that is already the newest needs no new number.
        if entry.number != newest {
            self.next = newest.wrapping_add(1);
            entry.number = self.next;
            self.order.push_back((entry.number, entry.key.clone()));
        }
        let bytes = change(&mut entry.value);
        self.bytes = self.bytes.saturating_sub(entry.bytes).saturating_add(bytes);
        entry.bytes = bytes;
        self.evict();
        Some(())
    }

    pub(super) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.remove(key)?;
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        self.compact();
        Some(entry.value)
    }

    /// Returns the oldest value.
    pub(super) fn oldest(&mut self) -> Option<&V> {
        self.drop_stale();
        let (_, key) = self.order.front()?;
        self.get(key)
    }

    pub(super) fn remove_oldest(&mut self) -> Option<V> {
        self.drop_stale();
        let (_, key) = self.order.pop_front()?;
        let entry = self.entries.remove(&key)?;
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        Some(entry.value)
    }

    /// Returns keys and values, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.order.iter().filter_map(|(number, key)| {
            let entry = self.entries.get(key).filter(|entry| entry.number == *number)?;
            Some((key, &entry.value))
        })
    }

    fn number(&mut self) -> u64 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    fn drop_stale(&mut self) {
        while let Some((number, key)) = self.order.front() {
            if is_current(&self.entries, *number, key) {
                return;
            }
            self.order.pop_front();
        }
    }

    /// Removes stale items once they are more than half of all items. This is so rare that the
    /// amortized cost of each operation is constant.
    fn compact(&mut self) {
        let most = self.entries.len().saturating_mul(2).saturating_add(SLACK);
        if self.order.len() > most {
            let entries = &self.entries;
            self.order.retain(|(number, key)| is_current(entries, *number, key));
        }
    }
}

fn is_current<K: Hash + Eq, V, S: BuildHasher>(
    entries: &HashMap<K, Entry<K, V>, S>,
    number: u64,
    key: &K,
) -> bool {
    entries.get(key).is_some_and(|entry| entry.number == number)
}

/// The number of items that `order` may have in addition to twice the number of entries.
const SLACK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(map: &LruMap<String, u32>) -> Vec<&str> {
        map.iter().map(|(key, _)| key.as_str()).collect()
    }

    fn filled(capacity: usize, keys: &[&str]) -> LruMap<String, u32> {
        let mut map = LruMap::new(capacity, 1000);
        for (value, key) in (0..).zip(keys) {
            map.insert((*key).to_owned(), value, 1);
        }
        map
    }

    #[test]
    fn the_oldest_entry_is_evicted() {
        let mut map = filled(3, &["a", "b", "c", "d"]);
        assert_eq!(keys(&map), ["b", "c", "d"]);
        assert_eq!((map.get("a"), map.get("b")), (None, Some(&1)));
        assert_eq!(map.oldest(), Some(&1));
        assert_eq!(map.remove_oldest(), Some(1));
        assert_eq!(keys(&map), ["c", "d"]);
    }

    #[test]
    fn a_replaced_or_renewed_entry_is_the_newest() {
        let mut map = filled(3, &["a", "b", "c", "a"]);
        assert_eq!((keys(&map), map.get("a")), (vec!["b", "c", "a"], Some(&3)));
        assert_eq!([map.renew("b", |_| 1), map.renew("b", |_| 1)], [Some(()); 2]);
        assert_eq!(map.renew("absent", |_| 1), None);
        assert_eq!(keys(&map), ["c", "a", "b"]);
        map.insert("d".into(), 9, 1);
        assert_eq!(keys(&map), ["a", "b", "d"]);
    }

    #[test]
    fn an_entry_inserted_again_is_the_newest() {
        let mut map = filled(2, &["a", "b"]);
        assert_eq!(map.remove("a"), Some(0));
        assert_eq!(map.remove("a"), None);
        map.insert("a".into(), 5, 1);
        map.insert("c".into(), 6, 1);
        assert_eq!(keys(&map), ["a", "c"]);
    }

    #[test]
    fn the_bytes_of_all_entries_are_limited() {
        let mut map = filled(4, &["a", "b", "c"]);
        map.insert("d".into(), 9, 997);
        assert_eq!((keys(&map), map.bytes), (vec!["a", "b", "c", "d"], 1000));
        map.insert("d".into(), 9, 998);
        assert_eq!((keys(&map), map.bytes), (vec!["b", "c", "d"], 1000));
        assert_eq!(map.change("c", |value| (2, *value)), Some(2));
        assert_eq!((keys(&map), map.bytes), (vec!["c", "d"], 1000));
        assert_eq!(map.change("absent", |_| (2000, ())), None);
        map.insert("e".into(), 9, 1001);
        map.insert("d".into(), 9, 1001);
        assert_eq!((keys(&map), map.bytes), (vec!["c"], 2));
        assert_eq!(map.remove_oldest(), Some(2));
        assert_eq!(map.bytes, 0);
    }

    #[test]
    fn an_empty_map_has_no_oldest() {
        let mut map = filled(2, &["a"]);
        map.remove("a");
        assert_eq!(map.oldest(), None);
        assert_eq!(map.remove_oldest(), None);
        assert_eq!(filled(0, &["a"]).get("a"), None);
    }

    #[test]
    fn stale_items_are_limited_while_entries_are_inserted_and_removed() {
        let mut map = filled(4, &["a", "b", "c", "d"]);
        for round in 0..1000 {
            map.insert("e".into(), round, 1);
            map.renew("d", |_| 1);
            map.remove("e");
            assert!(map.order.len() <= 2 * 4 + SLACK);
        }
        assert_eq!(keys(&map).len(), 3);
    }

    #[test]
    fn removals_alone_drop_stale_items() {
        let names: Vec<_> = (0..100_u8).map(|byte| byte.to_string()).collect();
        let mut map = filled(100, &names.iter().map(String::as_str).collect::<Vec<_>>());
        names.iter().for_each(|name| _ = map.remove(name));
        assert!(map.order.len() <= SLACK);
    }
}
