//! Locks, atomics and `ArcSwap`.
//!
//! Code that several threads run imports these types from here. A test build with `--cfg loom` can
//! therefore replace them by those of loom, which runs the code in every interleaving
//! (`just loom`).

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

/// A model of `arc-swap` in which each call is atomic, as the documentation of that crate states.
#[cfg(all(test, loom))]
mod exchanged {
    use std::ops::Deref;
    use std::sync::Arc;

    use crate::sync::Mutex;

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
