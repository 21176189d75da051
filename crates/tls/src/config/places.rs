//! A peer's list reduced to what is known here: read once, however long it is, and then asked often.
//!
//! Must not know: what the entries mean. Next: `handshake/hello/negotiate.rs`, [`super::credential`].

/// The entries of a list that stand in a table of ours, by their places in it: each once, in the list's order.
///
/// A peer may send 32,000 entries. Whatever is done for each of our credentials, groups or suites must not walk them
/// again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    order: [u8; MOST],
    count: u8,
    /// A bit for each place.
    bits: u32,
}

/// Places that a table may have.
const MOST: usize = 16;

impl Places {
    /// `None` stands for an entry that is not in the table.
    pub(crate) fn of(places: impl Iterator<Item = Option<u8>>) -> Self {
        let mut all = Self::default();
        for place in places.flatten() {
            let Some(bit) = 1_u32.checked_shl(place.into()) else { continue };
            if all.bits & bit != 0 {
                continue;
            }
            let Some(free) = all.order.get_mut(usize::from(all.count)) else { continue };
            *free = place;
            all.count = all.count.saturating_add(1);
            all.bits |= bit;
        }
        all
    }

    /// Whether the list has the entry of this place.
    pub(crate) fn has(&self, place: u8) -> bool {
        self.bits.checked_shr(place.into()).is_some_and(|bits| bits & 1 != 0)
    }

    /// The places, in the order of the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        self.order.iter().copied().take(usize::from(self.count))
    }

    /// How many known entries the list has ahead of this one; `None` if it is not there.
    pub(crate) fn rank(&self, place: u8) -> Option<usize> {
        self.iter().position(|other| other == place)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_reduced_to_its_known_entries_in_order() {
        let list = [None, Some(7), Some(15), None, Some(7), Some(0), Some(16), Some(40)];
        let places = Places::of(list.into_iter());
        assert!(places.iter().eq([7, 15, 0, 16]));
        assert_eq!((places.rank(15), places.rank(0), places.rank(1)), (Some(1), Some(2), None));
        assert!(places.has(7) && places.has(0) && !places.has(1) && !places.has(200));
        assert!(Places::of(std::iter::repeat_n(None, 1000)).is_empty());
    }

    #[test]
    fn more_than_there_is_room_for_is_not_kept() {
        let places = Places::of((0..40).map(Some));
        assert!(places.iter().eq(0..16));
        assert!(!places.has(16));
    }
}
