//! The lock of a connection: one thread at a time uses its fields.
//!
//! OpenSSL leaves it to programs that one thread at a time uses an SSL, but some read in one thread
//! and write in another (Python does). The lock is held during a function, and released while a BIO
//! or a function of the program runs, so that a blocked read does not block writes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// A lock that its owner may take again, as a program's function does that is called while the lock
/// is held.
#[derive(Default)]
pub(crate) struct Lock {
    holder: Mutex<Option<Holder>>,
    released: Condvar,
}

struct Holder {
    thread: ThreadId,
    depth: usize,
}

impl Lock {
    fn state(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn acquire(&self) {
        self.acquire_to_depth(1);
    }

    fn acquire_to_depth(&self, depth: usize) {
        let thread = thread::current().id();
        let mut state = self.state();
        loop {
            match &mut *state {
                None => {
                    *state = Some(Holder { thread, depth });
                    return;
                }
                Some(holder) if holder.thread == thread => {
                    holder.depth = holder.depth.saturating_add(depth);
                    return;
                }
                Some(_) => {
                    state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    pub(crate) fn release(&self) {
        let mut state = self.state();
        let Some(holder) = &mut *state else { return };
        holder.depth = holder.depth.saturating_sub(1);
        if holder.depth == 0 {
            *state = None;
            drop(state);
            self.released.notify_one();
        }
    }

    /// Runs `body` with the lock released, and takes it again.
    pub(crate) fn outside<T>(&self, body: impl FnOnce() -> T) -> T {
        let thread = thread::current().id();
        let mut state = self.state();
        let depth = match &*state {
            Some(holder) if holder.thread == thread => holder.depth,
            _ => 0,
        };
        if depth == 0 {
            drop(state);
            return body();
        }
        *state = None;
        drop(state);
        self.released.notify_one();
        // The lock is taken again also if the body panics.
        struct Again<'a>(&'a Lock, usize);
        impl Drop for Again<'_> {
            fn drop(&mut self) {
                self.0.acquire_to_depth(self.1);
            }
        }
        let _again = Again(self, depth);
        body()
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_owner_may_take_it_again() {
        let lock = Lock::default();
        lock.acquire();
        lock.acquire();
        let inside = Cell::new(false);
        lock.outside(|| {
            lock.acquire();
            inside.set(true);
            lock.release();
        });
        assert!(inside.get());
        lock.release();
        lock.release();
        assert!(lock.state().is_none());
    }

    #[test]
    fn threads_exclude_each_other_except_outside() {
        let (lock, within) = (Arc::new(Lock::default()), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (lock, within) = (Arc::clone(&lock), Arc::clone(&within));
                thread::spawn(move || {
                    for _ in 0..1000 {
                        lock.acquire();
                        assert_eq!(within.fetch_add(1, Ordering::SeqCst), 0);
                        within.fetch_sub(1, Ordering::SeqCst);
                        lock.outside(thread::yield_now);
                        assert_eq!(within.fetch_add(1, Ordering::SeqCst), 0);
                        within.fetch_sub(1, Ordering::SeqCst);
                        lock.release();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(lock.state().is_none());
    }
}
