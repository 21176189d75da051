//! The cell between those who use keys and who replaces them.
//!
//! For: reading that takes no lock, waits for nobody and writes nothing that other cores read, whatever
//! happens beside it. A change is drawn up aside and put in with one exchange; of several at once one wins.
//! Must not know: what is in it. Next: [`super::rotating`], [`super::shared`].
//!
//! That this holds is shown three ways: in tests the cell counts its changes, and sealing and opening make
//! none but the one that a rotation is; readers and rotations go on while a reader stands still with the keys
//! in its hand; and `tests/structure` finds no lock in this folder. `arc-swap` does the reading, by a slot of
//! the thread's own.

use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::{ArcSwap, Guard};

/// One value, replaced as a whole.
pub(super) struct Swap<T> {
    value: ArcSwap<T>,
    #[cfg(test)]
    counts: Counts,
}

impl<T> Swap<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            value: ArcSwap::from_pointee(value),
            #[cfg(test)]
            counts: Counts::default(),
        }
    }

    /// The value as it is now. It stays what it is while it is held, and holding it hinders nobody.
    pub(super) fn load(&self) -> Guard<Arc<T>> {
        self.value.load()
    }

    /// Puts `new` in place of `seen`, unless somebody has replaced that already.
    pub(super) fn replace(&self, seen: &Arc<T>, new: T) {
        let before = self.value.compare_and_swap(seen, Arc::new(new));
        #[cfg(test)]
        self.counts.count(Arc::ptr_eq(&before, seen));
        drop(before);
    }

    /// Puts `new` in place of whatever is there.
    pub(super) fn set(&self, new: T) {
        self.value.store(Arc::new(new));
        #[cfg(test)]
        self.counts.count(true);
    }

    /// How often a change was tried, and how often one was made.
    #[cfg(test)]
    pub(super) fn changes(&self) -> (usize, usize) {
        let Counts { tried, made } = &self.counts;
        (tried.load(Ordering::SeqCst), made.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
#[derive(Default)]
struct Counts {
    tried: AtomicUsize,
    made: AtomicUsize,
}

#[cfg(test)]
impl Counts {
    fn count(&self, made: bool) {
        self.tried.fetch_add(1, Ordering::SeqCst);
        self.made.fetch_add(usize::from(made), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_changes_of_one_value_the_first_is_made() {
        let swap = Swap::new(1);
        let (first, second) = (swap.load(), swap.load());
        swap.replace(&first, 2);
        swap.replace(&second, 3);
        assert_eq!((**swap.load(), swap.changes()), (2, (2, 1)));
        swap.set(4);
        assert_eq!((**swap.load(), swap.changes()), (4, (3, 2)));
        assert_eq!((**first, **second), (1, 1));
    }
}
