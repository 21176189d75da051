//! A map with room for so many, in which the oldest makes room for the newest.
//!
//! For: every operation in constant time, taken over many. Must not know: time; age here is the order
//! of coming. Next: [`super::store`] and [`super::client_store`], whose values know when they expire.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};

/// Keys in the order they came, each with a value. A key is kept three times over.
pub(super) struct Aged<K, V, S = RandomState> {
    entries: HashMap<K, Entry<K, V>, S>,
    /// Oldest first. What left the map or came again stays here for a while, with a number that is no
    /// longer that of its entry.
    order: VecDeque<(u64, K)>,
    next: u64,
    capacity: usize,
}

struct Entry<K, V> {
    key: K,
    value: V,
    number: u64,
}

impl<K: Clone + Hash + Eq, V, S: BuildHasher + Default> Aged<K, V, S> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::default(), order: VecDeque::new(), next: 0, capacity }
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }

    pub(super) fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Puts `value` in as the newest, in place of an older one of that key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.capacity == 0 {
            return;
        }
        let number = self.number();
        self.order.push_back((number, key.clone()));
        self.entries.insert(key.clone(), Entry { key, value, number });
        if self.entries.len() > self.capacity {
            self.remove_oldest();
        }
        self.tidy();
    }

    /// Makes `key`, if it is here, the newest, and shows its value.
    pub(super) fn renew<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.tidy();
        let newest = self.next;
        let entry = self.entries.get_mut(key)?;
        // Of many visits in a row to the same one, only the first makes it newer.
        if entry.number != newest {
            self.next = newest.wrapping_add(1);
            entry.number = self.next;
            self.order.push_back((entry.number, entry.key.clone()));
        }
        Some(&mut entry.value)
    }

    pub(super) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.remove(key)?;
        self.tidy();
        Some(entry.value)
    }

    /// The oldest value.
    pub(super) fn oldest(&mut self) -> Option<&V> {
        self.skip_the_gone();
        let (_, key) = self.order.front()?;
        self.get(key)
    }

    pub(super) fn remove_oldest(&mut self) -> Option<V> {
        self.skip_the_gone();
        let (_, key) = self.order.pop_front()?;
        self.entries.remove(&key).map(|entry| entry.value)
    }

    /// Keys and values, oldest first.
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

    fn skip_the_gone(&mut self) {
        while let Some((number, key)) = self.order.front() {
            if is_current(&self.entries, *number, key) {
                return;
            }
            self.order.pop_front();
        }
    }

    /// Lets go of numbers without an entry once they are the larger half: rarely enough to cost each
    /// operation a constant.
    fn tidy(&mut self) {
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

const SLACK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(aged: &Aged<String, u32>) -> Vec<&str> {
        aged.iter().map(|(key, _)| key.as_str()).collect()
    }

    fn filled(capacity: usize, keys: &[&str]) -> Aged<String, u32> {
        let mut aged = Aged::new(capacity);
        for (value, key) in (0..).zip(keys) {
            aged.insert((*key).to_owned(), value);
        }
        aged
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut aged = filled(3, &["a", "b", "c", "d"]);
        assert_eq!(keys(&aged), ["b", "c", "d"]);
        assert_eq!((aged.get("a"), aged.get("b")), (None, Some(&1)));
        assert_eq!(aged.oldest(), Some(&1));
        assert_eq!(aged.remove_oldest(), Some(1));
        assert_eq!(keys(&aged), ["c", "d"]);
    }

    #[test]
    fn what_comes_again_or_is_renewed_is_the_newest() {
        let mut aged = filled(3, &["a", "b", "c", "a"]);
        assert_eq!((keys(&aged), aged.get("a")), (vec!["b", "c", "a"], Some(&3)));
        assert_eq!(aged.renew("b"), Some(&mut 1));
        assert_eq!(aged.renew("b"), Some(&mut 1));
        assert_eq!(aged.renew("absent"), None);
        assert_eq!(keys(&aged), ["c", "a", "b"]);
        aged.insert("d".into(), 9);
        assert_eq!(keys(&aged), ["a", "b", "d"]);
    }

    #[test]
    fn what_left_and_came_back_is_as_young_as_its_return() {
        let mut aged = filled(2, &["a", "b"]);
        assert_eq!(aged.remove("a"), Some(0));
        assert_eq!(aged.remove("a"), None);
        aged.insert("a".into(), 5);
        aged.insert("c".into(), 6);
        assert_eq!(keys(&aged), ["a", "c"]);
    }

    #[test]
    fn an_empty_map_has_no_oldest() {
        let mut aged = filled(2, &["a"]);
        aged.remove("a");
        assert_eq!(aged.oldest(), None);
        assert_eq!(aged.remove_oldest(), None);
        assert_eq!(filled(0, &["a"]).get("a"), None);
    }

    #[test]
    fn coming_and_going_leaves_nothing_behind() {
        let mut aged = filled(4, &["a", "b", "c", "d"]);
        for round in 0..1000 {
            aged.insert("e".into(), round);
            aged.renew("d");
            aged.remove("e");
            assert!(aged.order.len() <= 2 * 4 + SLACK);
        }
        assert_eq!(keys(&aged).len(), 3);
    }

    #[test]
    fn leaving_alone_lets_go_of_what_left() {
        let names: Vec<_> = (0..100_u8).map(|byte| byte.to_string()).collect();
        let mut aged = filled(100, &names.iter().map(String::as_str).collect::<Vec<_>>());
        names.iter().for_each(|name| _ = aged.remove(name));
        assert!(aged.order.len() <= SLACK);
    }
}
