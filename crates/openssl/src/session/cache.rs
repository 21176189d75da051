//! The sessions of a server's context, in the order in which OpenSSL removes them: the session that
//! expires first, and of several the oldest, is removed first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

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
    place: (i64, u64),
    /// The object that the program's functions receive, too. Dropping it can call functions of the
    /// program.
    session: Arc<Session>,
}

/// The result of looking up a session.
pub(crate) enum Lookup {
    Found(Arc<Session>),
    /// The lifetime has ended, so the session was removed.
    Expired(Arc<Session>),
    Unknown,
}

/// The result of adding a session.
pub(crate) struct Place {
    /// Another object with the same name, which was here.
    pub(crate) replaced: Option<Arc<Session>>,
    /// The sessions that made room.
    pub(crate) removed: Vec<Arc<Session>>,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Removes sessions until less than `most` remain; 0 is no limit. Returns those removed.
    fn make_room(&mut self, most: usize) -> Vec<Arc<Session>> {
        let mut removed = Vec::new();
        while most > 0 && self.len() >= most {
            let Some((_, id)) = self.by_end.pop_first() else { break };
            removed.extend(self.remove(&id));
        }
        removed
    }

    /// Adds a session that expires at `end`, to at most `most` with it. `None`: this object is
    /// here already.
    pub(crate) fn add(
        &mut self,
        id: &[u8],
        session: &Arc<Session>,
        end: i64,
        most: usize,
    ) -> Option<Place> {
        if self.has(id, session) {
            return None;
        }
        session.renew_removal();
        let replaced = self.remove(id);
        let removed = self.make_room(most);
        let id: Arc<[u8]> = id.into();
        let place = (end, self.added);
        self.added = self.added.wrapping_add(1);
        self.by_end.insert(place, Arc::clone(&id));
        self.by_id.insert(id, Entry { place, session: Arc::clone(session) });
        Some(Place { replaced, removed })
    }

    /// Whether this object is here.
    pub(crate) fn has(&self, id: &[u8], session: &Arc<Session>) -> bool {
        self.by_id.get(id).is_some_and(|known| Arc::ptr_eq(&known.session, session))
    }

    /// Sets the end of a session, if this object is here.
    pub(crate) fn set_end(&mut self, id: &[u8], session: &Arc<Session>, end: i64) {
        if !self.has(id, session) {
            return;
        }
        let Some(entry) = self.by_id.get_mut(id) else { return };
        if let Some(id) = self.by_end.remove(&entry.place) {
            entry.place.0 = end;
            self.by_end.insert(entry.place, id);
        }
    }

    pub(crate) fn get(&mut self, id: &[u8], now: i64) -> Lookup {
        match self.by_id.get(id) {
            None => Lookup::Unknown,
            Some(entry) if entry.place.0 < now => match self.remove(id) {
                Some(removed) => Lookup::Expired(removed),
                None => Lookup::Unknown,
            },
            Some(entry) => Lookup::Found(Arc::clone(&entry.session)),
        }
    }

    pub(crate) fn remove(&mut self, id: &[u8]) -> Option<Arc<Session>> {
        let entry = self.by_id.remove(id)?;
        self.by_end.remove(&entry.place);
        Some(entry.session)
    }

    /// Removes the sessions whose lifetime ends before `time`; all of them for `None`.
    pub(crate) fn remove_ended(&mut self, time: Option<i64>) -> Vec<Arc<Session>> {
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
    use super::super::Fields;
    use super::*;
    use crate::objects::id::Id;

    fn named(name: &str) -> Arc<Session> {
        Session::new(Fields { id: Id::new(name.as_bytes()).unwrap(), ..Fields::default() })
    }

    fn with(sessions: &[(&str, i64)]) -> Sessions {
        let mut cache = Sessions::default();
        for (name, end) in sessions {
            let place = cache.add(name.as_bytes(), &named(name), *end, 0).unwrap();
            assert!(place.replaced.is_none() && place.removed.is_empty());
        }
        cache
    }

    fn names(removed: &[Arc<Session>]) -> Vec<String> {
        removed.iter().map(|each| String::from_utf8(each.fields().id.to_vec()).unwrap()).collect()
    }

    #[test]
    fn the_session_that_expires_first_is_removed_first() {
        let mut cache = with(&[("b", 20), ("c", 30), ("a", 10), ("d", 30)]);
        assert_eq!(names(&cache.make_room(5)), Vec::<String>::new());
        assert_eq!(names(&cache.make_room(0)), Vec::<String>::new());
        assert_eq!(names(&cache.make_room(4)), ["a"]);
        assert_eq!(names(&cache.make_room(2)), ["b", "c"]);
        assert_eq!(cache.len(), 1);
        assert!(matches!(cache.get(b"d", 30), Lookup::Found(_)));
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
    fn an_object_is_added_once_and_replaces_another_one_with_its_name() {
        let mut cache = with(&[("a", 10), ("b", 20)]);
        let session = named("a");
        let place = cache.add(b"a", &session, 30, 2).unwrap();
        assert!(place.replaced.is_some_and(|old| !Arc::ptr_eq(&old, &session)));
        // A session that is replaced needs no more room.
        assert!(place.removed.is_empty());
        assert!(cache.add(b"a", &session, 30, 2).is_none());
        assert_eq!(names(&cache.add(b"c", &named("c"), 40, 2).unwrap().removed), ["b"]);
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn the_end_of_an_object_may_change() {
        let mut cache = with(&[("a", 10), ("b", 20)]);
        // Another object with the same name is not in the cache.
        cache.set_end(b"a", &named("a"), 30);
        let Lookup::Found(session) = cache.get(b"a", 10) else { panic!("a is unknown") };
        for end in [5, 30] {
            cache.set_end(b"a", &session, end);
        }
        cache.set_end(b"c", &session, 1);
        assert_eq!(names(&cache.remove_ended(Some(30))), ["b"]);
        assert_eq!(names(&cache.remove_ended(None)), ["a"]);
    }
}
