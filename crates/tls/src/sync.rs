//! What threads share: locks, atomic numbers, and a pointer that is exchanged.
//!
//! For: one place from which all that is lock-free takes its tools, so that a test build with `--cfg loom` can hand out
//! those of a model checker, which runs the code that uses them in every interleaving (`just loom`). Any other build has
//! the standard library's. Must not know: what is shared. Next: the files named `models.rs`, which say what must hold.

#[cfg(not(all(test, loom)))]
pub(crate) use arc_swap::{ArcSwap, Guard};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};
#[cfg(not(all(test, loom)))]
pub(crate) use tercel_crypto::lock;

#[cfg(all(test, loom))]
pub(crate) use exchanged::{ArcSwap, Guard};
#[cfg(all(test, loom))]
pub(crate) use loom::sync::{self as lock, Mutex, MutexGuard, atomic};

/// `arc-swap` as it promises to be: each call happens at one moment. How it does that is its own matter.
#[cfg(all(test, loom))]
mod exchanged {
    use std::ops::Deref;
    use std::sync::Arc;

    use super::Mutex;

    pub(crate) struct ArcSwap<T>(Mutex<Arc<T>>);

    pub(crate) struct Guard<T>(T);

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(value: T) -> Self {
            Self(Mutex::new(Arc::new(value)))
        }

        pub(crate) fn load(&self) -> Guard<Arc<T>> {
            Guard(Arc::clone(&self.0.lock().unwrap()))
        }

        pub(crate) fn compare_and_swap(&self, seen: &Arc<T>, new: Arc<T>) -> Guard<Arc<T>> {
            let mut place = self.0.lock().unwrap();
            let before = Arc::clone(&place);
            if Arc::ptr_eq(&before, seen) {
                *place = new;
            }
            Guard(before)
        }

        pub(crate) fn store(&self, new: Arc<T>) {
            *self.0.lock().unwrap() = new;
        }
    }

    impl<T> Deref for Guard<T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }
}
