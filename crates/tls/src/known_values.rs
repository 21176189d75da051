//! The supported values in a peer's list.

/// The entries of a peer's list that are in a table of supported values. They are stored as indices
/// into that table, each once, in the order of the list.
///
/// A peer may send 32,000 entries. They are read once, so that later work for each configured
/// credential, group or suite does not depend on the length of the list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownValues {
    order: [u8; CAPACITY],
    count: u8,
    /// A bit mask of the indices.
    bits: u32,
}

/// The largest size of a table.
const CAPACITY: usize = 16;

impl KnownValues {
    /// Collects indices. `None` stands for an entry that is not in the table.
    pub(crate) fn of(indices: impl Iterator<Item = Option<u8>>) -> Self {
        let mut all = Self::default();
        for index in indices.flatten() {
            let Some(bit) = 1_u32.checked_shl(index.into()) else { continue };
            if all.bits & bit != 0 {
                continue;
            }
            let Some(free) = all.order.get_mut(usize::from(all.count)) else { continue };
            *free = index;
            all.count = all.count.saturating_add(1);
            all.bits |= bit;
        }
        all
    }

    /// Whether the list contains the entry with this index.
    pub(crate) fn has(&self, index: u8) -> bool {
        self.bits.checked_shr(index.into()).is_some_and(|bits| bits & 1 != 0)
    }

    /// Returns the indices, in the order of the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        self.order.iter().copied().take(usize::from(self.count))
    }

    /// Returns the number of supported entries that precede this one in the list. `None` if the
    /// list does not contain it.
    pub(crate) fn rank(&self, index: u8) -> Option<usize> {
        self.iter().position(|other| other == index)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_reduced_to_its_supported_entries_in_order() {
        let list = [None, Some(7), Some(15), None, Some(7), Some(0), Some(16), Some(40)];
        let indices = KnownValues::of(list.into_iter());
        assert!(indices.iter().eq([7, 15, 0, 16]));
        assert_eq!((indices.rank(15), indices.rank(0), indices.rank(1)), (Some(1), Some(2), None));
        assert!(indices.has(7) && indices.has(0) && !indices.has(1) && !indices.has(200));
        assert!(KnownValues::of(std::iter::repeat_n(None, 1000)).is_empty());
    }

    #[test]
    fn entries_beyond_the_capacity_are_ignored() {
        let indices = KnownValues::of((0..40).map(Some));
        assert!(indices.iter().eq(0..16));
        assert!(!indices.has(16));
    }
}
