//! The sessions of a server's context, in the order in which OpenSSL removes them: the session that
//! expires first, and of several the oldest, is removed first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::Session;

/// The sessions by their names.
#[derive(Default)]
pub(crate) struct Sessions {
    by_id: HashMap<Arc<[u8]>, Entry>,
    /// The names, by the end of the lifetime and the order in which they were added.
    by_end: BTreeMap<(i64, u64), Arc<[u8]>>,
    added: u64,
}

struct Entry {
    content: Zeroizing<Vec<u8>>,
    place: (i64, u64),
    object: Option<Arc<Session>>,
}

/// A session as it is in the cache.
pub(crate) struct Known {
    pub(crate) content: Zeroizing<Vec<u8>>,
    /// The object to which the program has added something.
    pub(crate) object: Option<Arc<Session>>,
}

/// A session that was removed. Dropping its object can call functions of the program.
pub(crate) struct Removed {
    pub(crate) id: Arc<[u8]>,
    pub(crate) object: Option<Arc<Session>>,
}

/// The result of looking up a session.
pub(crate) enum Lookup {
    Found(Known),
    /// The lifetime has ended, so the session was removed.
    Expired(Removed),
    Unknown,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Removes sessions until less than `most` remain; 0 is no limit. Returns those removed.
    pub(crate) fn make_room(&mut self, most: usize) -> Vec<Removed> {
        let mut removed = Vec::new();
        while most > 0 && self.len() >= most {
            let Some((_, id)) = self.by_end.pop_first() else { break };
            removed.extend(self.remove(&id));
        }
        removed
    }

    /// Adds a session that expires at `end`. One with the same name is replaced, and returned.
    pub(crate) fn add(
        &mut self,
        id: &[u8],
        content: Zeroizing<Vec<u8>>,
        end: i64,
    ) -> Option<Removed> {
        let replaced = self.remove(id);
        let id: Arc<[u8]> = id.into();
        let place = (end, self.added);
        self.added = self.added.wrapping_add(1);
        self.by_end.insert(place, Arc::clone(&id));
        self.by_id.insert(id, Entry { content, place, object: None });
        replaced
    }

    pub(crate) fn has(&self, id: &[u8]) -> bool {
        self.by_id.contains_key(id)
    }

    /// Keeps a session that is here with its object, until `end`. Returns the object before.
    pub(crate) fn keep(
        &mut self,
        id: &[u8],
        object: Arc<Session>,
        end: i64,
    ) -> Option<Arc<Session>> {
        let entry = self.by_id.get_mut(id)?;
        if let Some(id) = self.by_end.remove(&entry.place) {
            entry.place.0 = end;
            self.by_end.insert(entry.place, id);
        }
        entry.object.replace(object)
    }

    pub(crate) fn get(&mut self, id: &[u8], now: i64) -> Lookup {
        match self.by_id.get(id) {
            None => Lookup::Unknown,
            Some(entry) if entry.place.0 < now => match self.remove(id) {
                Some(removed) => Lookup::Expired(removed),
                None => Lookup::Unknown,
            },
            Some(entry) => Lookup::Found(Known {
                content: entry.content.clone(),
                object: entry.object.clone(),
            }),
        }
    }

    pub(crate) fn remove(&mut self, id: &[u8]) -> Option<Removed> {
        let (id, entry) = self.by_id.remove_entry(id)?;
        self.by_end.remove(&entry.place);
        Some(Removed { id, object: entry.object })
    }

    /// Removes the sessions whose lifetime ends before `time`; all of them for `None`.
    pub(crate) fn remove_ended(&mut self, time: Option<i64>) -> Vec<Removed> {
        let mut removed = Vec::new();
        while let Some(first) = self.by_end.first_entry() {
            if time.is_some_and(|time| first.key().0 >= time) {
                break;
            }
            let id = first.remove();
            removed.extend(self.remove(&id));
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(sessions: &[(&str, i64)]) -> Sessions {
        let mut cache = Sessions::default();
        for (name, end) in sessions {
            assert!(cache.add(name.as_bytes(), Zeroizing::default(), *end).is_none());
        }
        cache
    }

    fn names(removed: &[Removed]) -> Vec<String> {
        removed.iter().map(|each| String::from_utf8(each.id.to_vec()).unwrap()).collect()
    }

    #[test]
    fn the_session_that_expires_first_is_removed_first() {
        let mut cache = with(&[("b", 20), ("c", 30), ("a", 10), ("d", 30)]);
        assert_eq!(names(&cache.make_room(5)), Vec::<String>::new());
        assert_eq!(names(&cache.make_room(0)), Vec::<String>::new());
        assert_eq!(names(&cache.make_room(4)), ["a"]);
        assert_eq!(names(&cache.make_room(2)), ["b", "c"]);
        assert_eq!(cache.len(), 1);
        assert!(cache.has(b"d"));
    }

    #[test]
    fn sessions_end_after_their_last_second() {
        let mut cache = with(&[("a", 10), ("b", 20)]);
        assert!(matches!(cache.get(b"a", 10), Lookup::Found(_)));
        assert!(matches!(cache.get(b"a", 11), Lookup::Expired(_)));
        assert!(matches!(cache.get(b"a", 11), Lookup::Unknown));
        assert_eq!(names(&cache.remove_ended(Some(20))), Vec::<String>::new());
        assert_eq!(names(&cache.remove_ended(Some(21))), ["b"]);
        let mut cache = with(&[("a", 10), ("b", 20)]);
        assert_eq!(names(&cache.remove_ended(None)), ["a", "b"]);
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn an_object_may_change_the_end() {
        let mut cache = with(&[("a", 10), ("b", 20)]);
        let session = Session::new(super::super::Fields::default());
        assert!(cache.keep(b"a", Arc::clone(&session), 30).is_none());
        assert!(cache.keep(b"c", session, 30).is_none());
        assert_eq!(names(&cache.make_room(2)), ["b"]);
        let Lookup::Found(known) = cache.get(b"a", 30) else { panic!("a is unknown") };
        assert!(known.object.is_some());
        // A session with the same name has no object.
        assert!(cache.add(b"a", Zeroizing::default(), 40).is_some_and(|old| old.object.is_some()));
        let Lookup::Found(known) = cache.get(b"a", 30) else { panic!("a is unknown") };
        assert!(known.object.is_none());
        assert_eq!(cache.len(), 1);
        assert_eq!(names(&cache.remove_ended(None)), ["a"]);
    }
}
