//! The lock of a connection: one thread at a time uses its fields.
//!
//! OpenSSL leaves it to programs that one thread at a time uses an SSL, but some read in one thread
//! and write in another (Python does). The lock is held during a function, and released while a BIO
//! or a function of the program runs, so that a blocked read does not block writes.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Condvar, Mutex, PoisonError};

/// A lock that its owner may take again, as a program's function does that is called while the lock
/// is held. Without a thread that waits, taking it and releasing it are one atomic operation each.
#[derive(Default)]
pub(crate) struct Lock {
    /// The thread that holds the lock, with [`WAITED_FOR`]; [`FREE`] for none.
    owner: AtomicUsize,
    /// How often the owner has taken the lock. Only the owner uses it.
    depth: AtomicUsize,
    /// Held by a thread from the time when it sets [`WAITED_FOR`] until it waits, so that a release
    /// in between wakes it.
    waiting: Mutex<()>,
    released: Condvar,
}

const FREE: usize = 0;
/// Set while a thread may wait.
const WAITED_FOR: usize = 1;

/// A number that no other thread has that exists at the same time. It is not [`FREE`], and does not
/// contain [`WAITED_FOR`].
fn current_thread() -> usize {
    thread_local! {
        static MARK: u64 = const { 0 };
    }
    MARK.with(|mark| core::ptr::from_ref(mark).addr())
}

impl Lock {
    /// Whether this thread holds the lock. Another thread's number is not mistaken for its own,
    /// because only this thread stores it.
    fn is_held_by(&self, thread: usize) -> bool {
        self.owner.load(Relaxed) & !WAITED_FOR == thread
    }

    pub(crate) fn acquire(&self) {
        let thread = current_thread();
        if self.is_held_by(thread) {
            self.depth.store(self.depth.load(Relaxed).saturating_add(1), Relaxed);
        } else {
            self.acquire_to_depth(thread, 1);
        }
    }

    /// Takes the lock, which this thread does not hold.
    fn acquire_to_depth(&self, thread: usize, depth: usize) {
        if self.owner.compare_exchange(FREE, thread, Acquire, Relaxed).is_err() {
            self.wait(thread);
        }
        self.depth.store(depth, Relaxed);
    }

    #[cold]
    fn wait(&self, thread: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let owner = self.owner.load(Relaxed);
            if owner == FREE {
                if self.owner.compare_exchange(FREE, thread, Acquire, Relaxed).is_ok() {
                    return;
                }
                continue;
            }
            let marked = owner | WAITED_FOR;
            if self.owner.compare_exchange(owner, marked, Relaxed, Relaxed).is_ok() {
                // All that wait are woken, and those that do not get the lock set the mark again.
                waiting = self.released.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    pub(crate) fn release(&self) {
        let depth = self.depth.load(Relaxed).saturating_sub(1);
        self.depth.store(depth, Relaxed);
        if depth == 0 {
            self.set_free();
        }
    }

    fn set_free(&self) {
        if self.owner.swap(FREE, Release) & WAITED_FOR != 0 {
            drop(self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            self.released.notify_all();
        }
    }

    /// Runs `body` with the lock released, and takes it again.
    pub(crate) fn outside<T>(&self, body: impl FnOnce() -> T) -> T {
        let thread = current_thread();
        if !self.is_held_by(thread) {
            return body();
        }
        let depth = self.depth.load(Relaxed);
        self.set_free();
        // The lock is taken again also if the body panics.
        struct Again<'a>(&'a Lock, usize, usize);
        impl Drop for Again<'_> {
            fn drop(&mut self) {
                self.0.acquire_to_depth(self.1, self.2);
            }
        }
        let _again = Again(self, thread, depth);
        body()
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::sync::atomic::Ordering;
    use std::sync::Arc;
    use std::thread;

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
        assert!(lock.is_held_by(current_thread()));
        lock.release();
        assert_eq!(lock.owner.load(Relaxed), FREE);
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
        assert_eq!(lock.owner.load(Relaxed), FREE);
    }
}
