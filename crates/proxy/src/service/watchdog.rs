//! Watchdog: detects worker threads that are blocked.
//!
//! Each worker answers pings from a task of its own. Workers are pinged only if the service manager
//! has a watchdog enabled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use crate::system::notify;

/// The heartbeats of all workers.
pub(crate) struct Heartbeats {
    /// Number of the last ping.
    pings: watch::Sender<u64>,
    /// Number of the last ping that each worker answered.
    answered: Vec<Arc<AtomicU64>>,
}

/// The heartbeat of one worker. Dropping it marks the worker as exited, which does not count as
/// unresponsive.
pub(crate) struct Heartbeat {
    pings: watch::Receiver<u64>,
    answered: Arc<AtomicU64>,
}

impl Heartbeats {
    /// Creates the heartbeats of no workers.
    pub(crate) fn new() -> Self {
        Self { pings: watch::channel(0).0, answered: Vec::new() }
    }

    /// Adds a worker.
    pub(crate) fn register(&mut self) -> Heartbeat {
        let answered = Arc::new(AtomicU64::new(0));
        self.answered.push(Arc::clone(&answered));
        Heartbeat { pings: self.pings.subscribe(), answered }
    }

    /// Pings all workers. Returns the workers that have not even answered the previous ping.
    pub(crate) fn ping(&self) -> Vec<usize> {
        let previous = *self.pings.borrow();
        let threads = self.answered.iter().enumerate();
        let unresponsive =
            threads.filter(|(_, answered)| answered.load(Ordering::Relaxed) < previous);
        let unresponsive = unresponsive.map(|(number, _)| number).collect();
        self.pings.send_replace(previous.saturating_add(1));
        unresponsive
    }
}

impl Heartbeat {
    /// Answers pings until the sender is dropped.
    pub(crate) async fn respond(mut self) {
        loop {
            let pings = *self.pings.borrow_and_update();
            self.answered.store(pings, Ordering::Relaxed);
            if self.pings.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.answered.store(u64::MAX, Ordering::Relaxed);
    }
}

/// The watchdog of the service manager, if enabled; it ticks when a keep-alive is due.
pub(super) struct Watchdog(Option<tokio::time::Interval>);

impl Watchdog {
    pub(super) fn new() -> Self {
        // Half of the keep-alive interval, so that a worker may miss one ping.
        let interval = notify::watchdog_interval().and_then(|interval| interval.checked_div(2));
        Self(interval.map(|interval| {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks
        }))
    }

    pub(super) async fn tick(&mut self) {
        match &mut self.0 {
            Some(ticks) => _ = ticks.tick().await,
            None => std::future::pending().await,
        }
    }
}

/// Sends a keep-alive if all workers respond.
pub(super) fn keep_alive(unresponsive: Vec<usize>) {
    if unresponsive.is_empty() {
        return notify::keep_alive();
    }
    for worker in unresponsive {
        tracing::error!(worker, "worker unresponsive; withholding watchdog keep-alive");
    }
}
