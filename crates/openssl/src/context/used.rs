//! The names of sessions that were resumed, so that none is resumed a second time while its early
//! data could be replayed.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use tercel::pki_types::UnixTime;

/// How many seconds a name is kept. After twice the freshness window, a copy of a ClientHello is
/// too old for early data. RFC 9846 8.2
const KEPT: u64 = 130;

/// The most names that are kept. While there are as many, no other session is resumed.
const MOST: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Used(Mutex<Names>);

#[derive(Default)]
struct Names {
    known: HashSet<Vec<u8>>,
    /// Each name after the time until which it is kept, the oldest first.
    by_age: VecDeque<(u64, Vec<u8>)>,
}

impl Used {
    /// Adds a name. Returns whether it was not known, and could be added.
    pub(crate) fn add(&self, name: &[u8], now: UnixTime) -> bool {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.as_secs();
        while names.by_age.front().is_some_and(|(end, _)| *end < now) {
            if let Some((_, old)) = names.by_age.pop_front() {
                names.known.remove(&old);
            }
        }
        if names.by_age.len() >= MOST || !names.known.insert(name.to_vec()) {
            return false;
        }
        names.by_age.push_back((now.saturating_add(KEPT), name.to_vec()));
        true
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    #[test]
    fn a_name_is_known_until_its_early_data_is_too_old() {
        let used = Used::default();
        assert!(used.add(b"one", at(1000)));
        assert!(used.add(b"other", at(1001)));
        assert!(!used.add(b"one", at(1001)));
        assert!(!used.add(b"one", at(1000 + KEPT)));
        assert!(used.add(b"one", at(1001 + KEPT)));
        assert!(!used.add(b"other", at(1001 + KEPT)));
    }

    #[test]
    fn no_name_is_added_while_there_are_too_many() {
        let used = Used::default();
        for number in 0..MOST {
            assert!(used.add(&number.to_be_bytes(), at(1)));
        }
        assert!(!used.add(b"another", at(1 + KEPT)));
        assert!(used.add(b"another", at(2 + KEPT)));
    }
}
