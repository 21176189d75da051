//! Whether the threads that serve still turn: each answers from a task of its own when all are asked.
//!
//! They are asked for a watchdog only, and without one this costs nothing. Must not know: what they serve.
//! Next: [`crate::service`], which vouches for those that answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// Asks all threads.
pub(crate) struct Pulse {
    /// How often they were asked.
    asked: watch::Sender<u64>,
    answered: Vec<Arc<AtomicU64>>,
}

/// A thread's answers. Who drops this has ended and is not asked any more.
pub(crate) struct Beat {
    asked: watch::Receiver<u64>,
    answered: Arc<AtomicU64>,
}

impl Pulse {
    /// For nobody yet.
    pub(crate) fn new() -> Self {
        Self { asked: watch::channel(0).0, answered: Vec::new() }
    }

    /// One more thread.
    pub(crate) fn beat(&mut self) -> Beat {
        let answered = Arc::new(AtomicU64::new(0));
        self.answered.push(Arc::clone(&answered));
        Beat { asked: self.asked.subscribe(), answered }
    }

    /// Asks all of them once more; the numbers of those that have not even answered the time before.
    pub(crate) fn ask(&self) -> Vec<usize> {
        let before = *self.asked.borrow();
        let threads = self.answered.iter().enumerate();
        let silent = threads.filter(|(_, answered)| answered.load(Ordering::Relaxed) < before);
        let silent = silent.map(|(number, _)| number).collect();
        self.asked.send_replace(before.saturating_add(1));
        silent
    }
}

impl Beat {
    /// Answers for as long as somebody could ask.
    pub(crate) async fn answer(mut self) {
        loop {
            let asked = *self.asked.borrow_and_update();
            self.answered.store(asked, Ordering::Relaxed);
            if self.asked.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.answered.store(u64::MAX, Ordering::Relaxed);
    }
}
