//! A limit on the number of open connections.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A limited number of permits. A permit that is dropped can be taken again.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimit(Arc<Shared>);

/// A permit for one connection. It is returned when it is dropped, even if the thread panics.
#[derive(Debug)]
pub(crate) struct ConnectionPermit(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Mutex<usize>,
    freed: Condvar,
}

impl ConnectionLimit {
    pub(crate) fn new(number: usize) -> Self {
        Self(Arc::new(Shared { free: Mutex::new(number), freed: Condvar::new() }))
    }

    /// Takes a permit, waiting until one is free.
    pub(crate) fn take(&self) -> ConnectionPermit {
        let free = self.0.free();
        let waited = self.0.freed.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        ConnectionPermit(Arc::clone(&self.0))
    }
}

impl Shared {
    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
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
    fn a_permit_is_waited_for_and_returned() {
        let limit = ConnectionLimit::new(2);
        let (first, _second) = (limit.take(), limit.take());
        let (taken, third) = mpsc::channel();
        let waiting = std::thread::spawn(move || taken.send(limit.take()).is_ok());
        assert!(third.recv_timeout(Duration::from_millis(50)).is_err());
        drop(first);
        assert!(third.recv_timeout(Duration::from_secs(10)).is_ok());
        assert!(waiting.join().unwrap());
    }
}
