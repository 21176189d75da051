//! The mutex of every floor: the standard one, which a test build counts.
//!
//! What many connections need at once is behind no lock; that this holds is counted in builds with debug assertions and
//! the feature `count-locks`. Every other build has the standard library's mutex. Must not know: what is locked.

#[cfg(not(all(feature = "count-locks", debug_assertions)))]
pub use std::sync::{Mutex, MutexGuard};

#[cfg(all(feature = "count-locks", debug_assertions))]
pub use counted::{Mutex, MutexGuard, taken_by};

#[cfg(all(feature = "count-locks", debug_assertions))]
mod counted {
    use std::collections::BTreeMap;
    pub use std::sync::MutexGuard;
    use std::sync::{LockResult, PoisonError};

    /// The standard mutex, which counts by the name of the thread that takes it.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(std::sync::Mutex<T>);

    static TAKEN: std::sync::Mutex<BTreeMap<String, u64>> = std::sync::Mutex::new(BTreeMap::new());

    impl<T> Mutex<T> {
        /// Around this.
        pub const fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        /// Counts, and takes it.
        ///
        /// # Errors
        /// If somebody has panicked while it was theirs.
        pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            let thread = std::thread::current();
            let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            let count = taken.entry(thread.name().unwrap_or_default().to_owned()).or_default();
            *count = count.saturating_add(1);
            drop(taken);
            self.0.lock()
        }

        /// What was in it.
        ///
        /// # Errors
        /// If somebody has panicked while it was theirs.
        pub fn into_inner(self) -> LockResult<T> {
            self.0.into_inner()
        }
    }

    /// Test seam. How often threads took a mutex whose name begins with this.
    #[must_use]
    pub fn taken_by(name: &str) -> u64 {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.iter().filter(|(thread, _)| thread.starts_with(name)).map(|(_, count)| count).sum()
    }
}
