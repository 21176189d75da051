//! A lock-free cell for ticket keys, which many threads read and few threads replace.
//!
//! Reading takes no lock, does not wait, and does not write to memory that other cores read, since
//! `arc-swap` uses a slot that belongs to the thread. To replace the value, a new value is prepared
//! first and then exchanged atomically. Only one of several concurrent changes succeeds.
//!
//! Three checks support this. First, the cell counts its changes in tests, which verify that
//! sealing and opening change it only for a rotation. Second, readers and rotations continue while
//! a suspended reader holds the keys. Third, `tests/structure` verifies that this folder contains
//! no lock.

use std::sync::Arc;

use crate::sync::{ArcSwap, Guard};

#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that is replaced atomically.
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

    /// Returns the current value. A value that is held does not change, and does not block other
    /// threads.
    pub(super) fn load(&self) -> Guard<Arc<T>> {
        self.value.load()
    }

    /// Replaces `seen` by `new`, unless another thread has already replaced it.
    pub(super) fn replace(&self, seen: &Arc<T>, new: T) {
        let before = self.value.compare_and_swap(seen, Arc::new(new));
        #[cfg(test)]
        self.counts.count(Arc::ptr_eq(&before, seen));
        drop(before);
    }

    /// Replaces the current value by `new`.
    pub(super) fn set(&self, new: T) {
        self.value.store(Arc::new(new));
        #[cfg(test)]
        self.counts.count(true);
    }

    /// Returns the number of changes that were tried, and the number of those that succeeded.
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
    fn the_first_of_two_concurrent_changes_succeeds() {
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
