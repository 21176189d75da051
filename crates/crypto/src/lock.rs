//! The mutex that all crates use: the mutex of the standard library, with a count of its uses in
//! test builds.
//!
//! Data that many connections need at the same time must not be behind a lock. Tests check this by
//! counting, in builds with debug assertions and the feature `count-locks`. Every other build uses
//! the standard library's mutex.

#[cfg(not(all(feature = "count-locks", debug_assertions)))]
pub use std::sync::{Mutex, MutexGuard};

#[cfg(all(feature = "count-locks", debug_assertions))]
pub use counted::{Mutex, MutexGuard, taken_by};

#[cfg(all(feature = "count-locks", debug_assertions))]
mod counted {
    use std::collections::BTreeMap;
    pub use std::sync::MutexGuard;
    use std::sync::{LockResult, PoisonError};

    /// The standard mutex, with a count of lock operations for each name of a calling thread.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(std::sync::Mutex<T>);

    static TAKEN: std::sync::Mutex<BTreeMap<String, u64>> = std::sync::Mutex::new(BTreeMap::new());

    impl<T> Mutex<T> {
        /// A mutex with this value.
        pub const fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        /// Counts the operation and locks the mutex.
        ///
        /// # Errors
        /// If a thread has panicked while holding the lock.
        pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            let thread = std::thread::current();
            let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            let count = taken.entry(thread.name().unwrap_or_default().to_owned()).or_default();
            *count = count.saturating_add(1);
            drop(taken);
            self.0.lock()
        }

        /// The value.
        ///
        /// # Errors
        /// If a thread has panicked while holding the lock.
        pub fn into_inner(self) -> LockResult<T> {
            self.0.into_inner()
        }
    }

    /// Test seam. The number of lock operations by threads whose name begins with `name`.
    #[must_use]
    pub fn taken_by(name: &str) -> u64 {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.iter().filter(|(thread, _)| thread.starts_with(name)).map(|(_, count)| count).sum()
    }
}
