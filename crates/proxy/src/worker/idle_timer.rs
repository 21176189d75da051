//! Idle timers of a worker's connections, driven by a single runtime timer.
//!
//! A waiting connection has only an [`Entry`]. At every tick all entries are checked, and the
//! connections with an expired timer are woken.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::Waker;
use std::time::Duration;

/// The idle timers of one worker.
#[derive(Debug)]
pub(crate) struct IdleTimers {
    entries: RefCell<Vec<Rc<Entry>>>,
    now: Cell<u32>,
    tick: Duration,
}

/// The timer of one connection.
#[derive(Debug)]
pub(crate) struct Entry {
    waker: RefCell<Option<Waker>>,
    index: Cell<usize>,
    /// The tick of the last activity.
    last_activity: Cell<u32>,
    limit: Cell<u32>,
    park_after: Cell<u32>,
    parked: Cell<bool>,
    fired: Cell<bool>,
}

/// An expired timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerEvent {
    /// The idle timeout has expired.
    Timeout,
    /// The connection has been idle for so long that it should free memory.
    Park,
}

/// A connection's idle timer, removed on drop.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    entry: Rc<Entry>,
    timers: Weak<IdleTimers>,
}

impl IdleTimers {
    /// Creates timers with a tick that is short enough for the shortest timeout.
    pub(crate) fn new(shortest: Duration) -> Rc<Self> {
        let tick = shortest.div_f64(4.0).clamp(Duration::from_millis(25), Duration::from_secs(1));
        Rc::new(Self { entries: RefCell::default(), now: Cell::new(0), tick })
    }

    /// Checks all timers at every tick.
    pub(crate) async fn run(&self, draining: impl Fn() -> bool) {
        let mut ticks = tokio::time::interval(self.tick);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.now.set(self.now.get().wrapping_add(1));
            self.check(draining());
        }
    }

    /// Wakes all connections with an expired timer, and the others as well if `all` is set.
    pub(crate) fn check(&self, all: bool) {
        for entry in self.entries.borrow().iter() {
            let idle = self.idle_ticks(entry);
            let park = !entry.parked.get() && idle >= entry.park_after.get();
            if all || park || idle >= entry.limit.get() {
                entry.fired.set(true);
                // A waker must not call the timers; tokio's wakers only queue the task.
                if let Some(waker) = &*entry.waker.borrow() {
                    waker.wake_by_ref();
                }
            }
        }
    }

    /// Adds a timer that starts now.
    pub(crate) fn register(self: &Rc<Self>, limit: Duration, park_after: Duration) -> IdleTimer {
        let entry = Rc::new(Entry {
            waker: RefCell::new(None),
            index: Cell::new(0),
            last_activity: Cell::new(self.now.get()),
            limit: Cell::new(self.ticks(limit)),
            park_after: Cell::new(self.ticks(park_after)),
            parked: Cell::new(false),
            fired: Cell::new(false),
        });
        let mut entries = self.entries.borrow_mut();
        entry.index.set(entries.len());
        entries.push(Rc::clone(&entry));
        IdleTimer { entry, timers: Rc::downgrade(self) }
    }

    fn idle_ticks(&self, entry: &Entry) -> u32 {
        self.now.get().wrapping_sub(entry.last_activity.get())
    }

    /// The number of ticks in `time`, plus one, because the current tick may be almost over.
    fn ticks(&self, time: Duration) -> u32 {
        let ticks = time.as_nanos().div_ceil(self.tick.as_nanos().max(1));
        u32::try_from(ticks).unwrap_or(u32::MAX).saturating_add(1)
    }
}

impl IdleTimer {
    /// Restarts the timer.
    pub(crate) fn record_activity(&self) {
        if let Some(timers) = self.timers.upgrade() {
            self.entry.last_activity.set(timers.now.get());
        }
        self.entry.parked.set(false);
    }

    /// Sets the idle timeout.
    pub(crate) fn set_limit(&self, limit: Duration) {
        if let Some(timers) = self.timers.upgrade() {
            self.entry.limit.set(timers.ticks(limit));
        }
    }

    /// Whether the connection has been idle for at least this long.
    pub(crate) fn is_idle_for(&self, time: Duration) -> bool {
        self.timers
            .upgrade()
            .is_some_and(|timers| timers.idle_ticks(&self.entry) >= timers.ticks(time))
    }

    /// Sets the waker of the task to be woken.
    pub(crate) fn set_waker(&self, waker: &Waker) {
        let mut current = self.entry.waker.borrow_mut();
        if !current.as_ref().is_some_and(|current| current.will_wake(waker)) {
            *current = Some(waker.clone());
        }
    }

    /// Returns and removes the event of an expired timer.
    pub(crate) fn take_event(&self) -> Option<TimerEvent> {
        let timers = self.timers.upgrade()?;
        if !self.entry.fired.replace(false) {
            return None;
        }
        let idle = timers.idle_ticks(&self.entry);
        if idle >= self.entry.limit.get() {
            return Some(TimerEvent::Timeout);
        }
        let park = idle >= self.entry.park_after.get() && !self.entry.parked.replace(true);
        park.then_some(TimerEvent::Park)
    }
}

impl Drop for IdleTimer {
    fn drop(&mut self) {
        let Some(timers) = self.timers.upgrade() else { return };
        let mut entries = timers.entries.borrow_mut();
        let index = self.entry.index.get();
        if entries.get(index).is_some_and(|found| Rc::ptr_eq(found, &self.entry)) {
            entries.swap_remove(index);
            if let Some(instead) = entries.get(index) {
                instead.index.set(index);
            }
            // Shrinking frees memory after many connections were open at the same time.
            if entries.len() < entries.capacity() / 4 {
                entries.shrink_to_fit();
            }
        }
    }
}
