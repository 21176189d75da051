//! The application protocols of a configuration, in order, with a fast lookup. RFC 7301

use core::ops::Deref;
use std::collections::HashMap;

/// The names of application protocols, most preferred first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Protocols {
    names: Vec<Vec<u8>>,
    /// The first position of each name in `names`. Empty if a linear search is faster.
    positions: HashMap<Vec<u8>, usize>,
}

/// The largest number of names for which a linear search is faster.
const MAX_LINEAR_SEARCH: usize = 4;

impl Protocols {
    pub(crate) fn new(names: Vec<Vec<u8>>) -> Self {
        let mut positions = HashMap::new();
        if names.len() > MAX_LINEAR_SEARCH {
            for (position, name) in names.iter().enumerate() {
                positions.entry(name.clone()).or_insert(position);
            }
        }
        Self { names, positions }
    }

    /// Returns the first configured protocol that is in `offered`. Each offered name is looked up
    /// once, because a client may offer 32,000 names.
    pub(crate) fn best<'n>(&self, offered: impl Iterator<Item = &'n [u8]>) -> Option<&[u8]> {
        let mut best: Option<usize> = None;
        for name in offered {
            best = match (best, self.position(name)) {
                (Some(best), Some(position)) => Some(best.min(position)),
                (best, position) => best.or(position),
            };
            if best == Some(0) {
                break;
            }
        }
        self.names.get(best?).map(Vec::as_slice)
    }

    /// Returns the first position of the name.
    fn position(&self, name: &[u8]) -> Option<usize> {
        if self.names.len() > MAX_LINEAR_SEARCH {
            return self.positions.get(name).copied();
        }
        self.names.iter().position(|own| own == name)
    }
}

impl Deref for Protocols {
    type Target = [Vec<u8>];

    fn deref(&self) -> &[Vec<u8>] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_own_protocol_is_selected_regardless_of_the_offered_order() {
        let names = ["h2", "http/1.1", "h2", "acme"].map(|name| name.as_bytes().to_vec());
        let others = (0..1000).map(|number| format!("other {number}").into_bytes());
        for ours in [names.to_vec(), names.iter().cloned().chain(others).collect()] {
            let count = ours.len();
            let ours = Protocols::new(ours);
            let best = |theirs: &[&str]| ours.best(theirs.iter().map(|name| name.as_bytes()));
            assert_eq!(best(&["acme", "h2"]), Some(&b"h2"[..]));
            assert_eq!(best(&["x", "acme", "h3"]), Some(&b"acme"[..]));
            assert_eq!(best(&["http/1.1", "acme"]), Some(&b"http/1.1"[..]));
            assert_eq!(best(&["h", "h22", "zzz"]), None);
            assert_eq!(best(&[]), None);
            assert_eq!((ours.position(b"h2"), ours.position(b"h3")), (Some(0), None));
            assert_eq!(ours.len(), count);
        }
        assert_eq!(Protocols::default().best([&b"h2"[..]].into_iter()), None);
    }
}
