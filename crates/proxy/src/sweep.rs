//! The clock of a thread's connections: one timer for all of them.
//!
//! A connection that waits has no timer of its own, only an [`Entry`] here; every tick all are looked at, and
//! those for which something is due are woken. Must not know: what a connection then does.
//! Next: [`crate::session`], which does it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::Waker;
use std::time::Duration;

/// The entries of one thread.
#[derive(Debug)]
pub(crate) struct Sweep {
    entries: RefCell<Vec<Rc<Entry>>>,
    now: Cell<u32>,
    tick: Duration,
}

/// What is known here about a connection.
#[derive(Debug)]
pub(crate) struct Entry {
    waker: RefCell<Option<Waker>>,
    place: Cell<usize>,
    /// When bytes moved last, and how long after that the connection has to end, in ticks.
    moved: Cell<u32>,
    limit: Cell<u32>,
    park_after: Cell<u32>,
    parked: Cell<bool>,
    due: Cell<bool>,
}

/// What is due for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Its time is over.
    End,
    /// It has been quiet for so long that it may let go of memory.
    Park,
}

/// An entry that leaves the sweep when this is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    entry: Rc<Entry>,
    sweep: Weak<Sweep>,
}

impl Sweep {
    /// With ticks that are short enough for the shortest of these times.
    pub(crate) fn new(shortest: Duration) -> Rc<Self> {
        let tick = shortest.div_f64(4.0).clamp(Duration::from_millis(25), Duration::from_secs(1));
        Rc::new(Self { entries: RefCell::default(), now: Cell::new(0), tick })
    }

    /// Looks at everyone again and again.
    pub(crate) async fn run(&self, draining: impl Fn() -> bool) {
        let mut ticks = tokio::time::interval(self.tick);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.now.set(self.now.get().wrapping_add(1));
            self.look(draining());
        }
    }

    /// Wakes everyone for whom something is due, and if `all` is set everyone else too.
    pub(crate) fn look(&self, all: bool) {
        for entry in self.entries.borrow().iter() {
            let quiet = self.quiet(entry);
            let park = !entry.parked.get() && quiet >= entry.park_after.get();
            if all || park || quiet >= entry.limit.get() {
                entry.due.set(true);
                // What a waker does may not come back here: tokio's only queue the task.
                if let Some(waker) = &*entry.waker.borrow() {
                    waker.wake_by_ref();
                }
            }
        }
    }

    /// A new entry, moved just now.
    pub(crate) fn register(self: &Rc<Self>, limit: Duration, park_after: Duration) -> Registered {
        let entry = Rc::new(Entry {
            waker: RefCell::new(None),
            place: Cell::new(0),
            moved: Cell::new(self.now.get()),
            limit: Cell::new(self.ticks(limit)),
            park_after: Cell::new(self.ticks(park_after)),
            parked: Cell::new(false),
            due: Cell::new(false),
        });
        let mut entries = self.entries.borrow_mut();
        entry.place.set(entries.len());
        entries.push(Rc::clone(&entry));
        Registered { entry, sweep: Rc::downgrade(self) }
    }

    fn quiet(&self, entry: &Entry) -> u32 {
        self.now.get().wrapping_sub(entry.moved.get())
    }

    /// One more than fit, because the first may be nearly over.
    fn ticks(&self, time: Duration) -> u32 {
        let ticks = time.as_nanos().div_ceil(self.tick.as_nanos().max(1));
        u32::try_from(ticks).unwrap_or(u32::MAX).saturating_add(1)
    }
}

impl Registered {
    /// Bytes moved: every time begins anew.
    pub(crate) fn moved(&self) {
        if let Some(sweep) = self.sweep.upgrade() {
            self.entry.moved.set(sweep.now.get());
        }
        self.entry.parked.set(false);
    }

    /// From now on it ends after so long without a byte.
    pub(crate) fn set_limit(&self, limit: Duration) {
        if let Some(sweep) = self.sweep.upgrade() {
            self.entry.limit.set(sweep.ticks(limit));
        }
    }

    /// Whether nothing has moved for at least so long.
    pub(crate) fn is_quiet_for(&self, time: Duration) -> bool {
        self.sweep.upgrade().is_some_and(|sweep| sweep.quiet(&self.entry) >= sweep.ticks(time))
    }

    /// Whom to wake.
    pub(crate) fn wake_me(&self, waker: &Waker) {
        let mut kept = self.entry.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    /// What is due, told once.
    pub(crate) fn take_due(&self) -> Option<Due> {
        let sweep = self.sweep.upgrade()?;
        if !self.entry.due.replace(false) {
            return None;
        }
        let quiet = sweep.quiet(&self.entry);
        if quiet >= self.entry.limit.get() {
            return Some(Due::End);
        }
        let park = quiet >= self.entry.park_after.get() && !self.entry.parked.replace(true);
        park.then_some(Due::Park)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let Some(sweep) = self.sweep.upgrade() else { return };
        let mut entries = sweep.entries.borrow_mut();
        let place = self.entry.place.get();
        if entries.get(place).is_some_and(|found| Rc::ptr_eq(found, &self.entry)) {
            entries.swap_remove(place);
            if let Some(instead) = entries.get(place) {
                instead.place.set(place);
            }
            // A flood that is over leaves no memory behind.
            if entries.len() < entries.capacity() / 4 {
                entries.shrink_to_fit();
            }
        }
    }
}
