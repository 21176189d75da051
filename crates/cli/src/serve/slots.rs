//! A limit on how many connections are open at once.
//!
//! Must not know: connections. Next: [`super`], which takes a slot for each.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A number of slots that can be taken and come back by themselves.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Arc<Shared>);

/// One taken slot; dropping it frees it, also when its thread panics.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Slots {
    pub(crate) fn new(number: usize) -> Self {
        Self(Arc::new(Shared { free: Mutex::new(number), freed: Condvar::new() }))
    }

    /// Takes a slot, when there is one.
    pub(crate) fn take(&self) -> Slot {
        let free = self.0.free();
        let waited = self.0.freed.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        Slot(Arc::clone(&self.0))
    }
}

impl Shared {
    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_slot_is_waited_for_and_comes_back() {
        let slots = Slots::new(2);
        let (first, _second) = (slots.take(), slots.take());
        let (taken, third) = mpsc::channel();
        let waiting = std::thread::spawn(move || taken.send(slots.take()).is_ok());
        assert!(third.recv_timeout(Duration::from_millis(50)).is_err());
        drop(first);
        assert!(third.recv_timeout(Duration::from_secs(10)).is_ok());
        assert!(waiting.join().unwrap());
    }
}
