//! The lock of a connection: one thread at a time uses its fields. Places of a thread.
//!
//! OpenSSL leaves it to programs that one thread at a time uses an SSL, but some read in one thread
//! and write in another (Python does). The lock is held during a function, and released while a BIO
//! or a function of the program runs, so that a blocked read does not block writes.

use core::cell::Cell;
use core::mem::ManuallyDrop;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A lock that its owner may take again, as a program's function does that is called while the lock
/// is held.
#[derive(Default)]
pub(crate) struct Lock {
    state: Mutex<State>,
    released: Condvar,
    /// For [`Lock::wait`].
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The thread that holds the lock; 0 for none.
    thread: usize,
    depth: usize,
    /// The number of threads that wait. Without one, a release makes no call of the system.
    waiting: usize,
}

/// A place of a thread, which has no destructor: so it also exists while the thread's other values
/// are destroyed, in which programs free connections (`atexit`, destructors of statics and of
/// thread keys). Its user leaves nothing in it that is to be freed.
pub(crate) struct Place<T>(Cell<ManuallyDrop<T>>);

impl<T> Place<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Cell::new(ManuallyDrop::new(value)))
    }

    pub(crate) fn replace(&self, value: T) -> T {
        ManuallyDrop::into_inner(self.0.replace(ManuallyDrop::new(value)))
    }
}

impl<T: Default> Place<T> {
    pub(crate) fn take(&self) -> T {
        self.replace(T::default())
    }
}

/// A number that no other thread has that exists at the same time.
pub(crate) fn current_thread() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| core::ptr::from_ref(mark).addr())
}

impl Lock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn acquire(&self) {
        self.acquire_to_depth(1);
    }

    fn acquire_to_depth(&self, depth: usize) {
        let thread = current_thread();
        let mut state = self.state();
        while state.depth != 0 && state.thread != thread {
            state.waiting = state.waiting.saturating_add(1);
            state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting = state.waiting.saturating_sub(1);
        }
        state.thread = thread;
        state.depth = state.depth.saturating_add(depth);
    }

    pub(crate) fn release(&self) {
        let mut state = self.state();
        state.depth = state.depth.saturating_sub(1);
        if state.depth == 0 {
            self.released_by(state);
        }
    }

    /// Wakes a thread that waits for the lock, which is free.
    fn released_by(&self, state: MutexGuard<'_, State>) {
        let waits = state.waiting > 0;
        drop(state);
        if waits {
            self.released.notify_one();
        }
    }

    /// Waits for [`Self::wake`] with the lock released, and takes it again. The caller holds the
    /// lock, so it sees what another thread changes before that calls `wake`.
    pub(crate) fn wait(&self) {
        let mut state = self.state();
        let depth = core::mem::take(&mut state.depth);
        if state.waiting > 0 {
            self.released.notify_one();
        }
        drop(self.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
        self.acquire_to_depth(depth);
    }

    /// Wakes the threads in [`Self::wait`].
    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }

    /// Runs `body` with the lock released, and takes it again.
    pub(crate) fn outside<T>(&self, body: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        let depth = if state.thread == current_thread() { state.depth } else { 0 };
        if depth == 0 {
            drop(state);
            return body();
        }
        state.depth = 0;
        self.released_by(state);
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
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
        lock.release();
        assert!(lock.state().depth == 0);
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
        assert!(lock.state().depth == 0);
    }
}
