//! A thread that serves: listeners of its own, a runtime of its own, and nothing shared on the way of a byte.
//!
//! Must not know: configuration files. Next: [`crate::listener`], [`crate::connection`].

use std::cell::{Cell, RefCell};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio::task::LocalSet;

use crate::backend::Turns;
use crate::config::Timeouts;
use crate::gather;
use crate::limits::{Counts, Most, ThreadCounts};
use crate::listener;
use crate::live::{Live, LiveListener};
use crate::logs::Repeats;
use crate::metrics::Shard;
use crate::pulse::Beat;
use crate::sweep::Sweep;

/// What all threads are told.
#[derive(Clone)]
pub(crate) struct Orders {
    pub(crate) live: Arc<Live>,
    pub(crate) phase: Phase,
}

/// Whether new connections are accepted, and whether there is an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Serving,
    /// No new ones, and an end at this moment at the latest.
    Draining(Instant),
    Stopped,
}

/// What the tasks of one thread share.
pub(crate) struct Hub {
    view: RefCell<Rc<View>>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) counts: Rc<ThreadCounts>,
    pub(crate) sweep: Rc<Sweep>,
    /// Failed handshakes that are logged.
    pub(crate) repeats: Repeats,
    draining: Cell<bool>,
    /// Told when a drain begins; the listeners wait for it.
    pub(crate) drain: Notify,
    connections: Cell<usize>,
    empty: Notify,
}

/// What is served at this moment, with what one thread remembers of it.
pub(crate) struct View {
    pub(crate) live: Arc<Live>,
    /// By listener and route.
    turns: Vec<Vec<Turns>>,
}

/// Lines about failed handshakes, a second and a thread.
const LINES: u32 = 10;

impl View {
    fn new(live: Arc<Live>) -> Rc<Self> {
        let turns = live.listeners.iter().map(|listener| {
            listener.routes.iter().map(|route| Turns::new(route.backends.len())).collect()
        });
        Rc::new(Self { turns: turns.collect(), live })
    }

    pub(crate) fn listener(&self, number: usize) -> Option<&LiveListener> {
        self.live.listeners.get(number)
    }

    pub(crate) fn turns(&self, listener: usize, route: usize) -> Option<&Turns> {
        self.turns.get(listener)?.get(route)
    }

    pub(crate) fn most(&self, listener: usize) -> Most {
        Most {
            all: self.live.limits.connections,
            of_listener: self.listener(listener).and_then(|listener| listener.connections),
            of_client: self.live.limits.per_client,
        }
    }
}

impl Hub {
    /// What is served at this moment: a connection keeps to it while it is being made.
    pub(crate) fn view(&self) -> Rc<View> {
        Rc::clone(&self.view.borrow())
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.view.borrow().live.timeouts.clone()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// After so long without a byte a connection between two requests is taken for idle in a drain.
    pub(crate) fn quiet_enough(&self) -> Duration {
        let drain = self.view.borrow().live.drain;
        drain.div_f64(4.0).min(Duration::from_secs(5))
    }
}

/// A task that is counted, so that its thread knows when it is the last.
pub(crate) struct Counted(Rc<Hub>);

impl Counted {
    pub(crate) fn new(hub: &Rc<Hub>) -> Self {
        hub.connections.set(hub.connections.get().saturating_add(1));
        Self(Rc::clone(hub))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let left = self.0.connections.get().saturating_sub(1);
        self.0.connections.set(left);
        if left == 0 {
            self.0.empty.notify_one();
        }
    }
}

/// What a thread is given.
pub(crate) struct Work {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) orders: watch::Receiver<Orders>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) beat: Beat,
}

/// Serves until told to end.
pub(crate) fn work(work: Work) -> std::io::Result<()> {
    gather::be_punctual();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().on_thread_park(gather::wait).build()?;
    let tasks = LocalSet::new();
    let result = tasks.block_on(&runtime, serve(work));
    drop(tasks);
    // Look-ups of names may be under way on threads of the runtime's.
    runtime.shutdown_background();
    result
}

async fn serve(work: Work) -> std::io::Result<()> {
    let Work { listeners, mut orders, shard, counts, beat } = work;
    let live = Arc::clone(&orders.borrow_and_update().live);
    let times = &live.timeouts;
    let shortest = times.idle.min(times.half_closed).min(times.park);
    let hub = Rc::new(Hub {
        sweep: Sweep::new(shortest),
        view: RefCell::new(View::new(live)),
        shard,
        counts: Rc::new(ThreadCounts(counts)),
        repeats: Repeats::new(LINES),
        draining: Cell::new(false),
        drain: Notify::new(),
        connections: Cell::new(0),
        empty: Notify::new(),
    });
    let mut accepting = tokio::task::JoinSet::new();
    for (number, listener) in listeners.into_iter().enumerate() {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        accepting.spawn_local(listener::accept(Rc::clone(&hub), listener, number));
    }
    tokio::task::spawn_local(beat.answer());
    let sweeping = Rc::clone(&hub);
    tokio::task::spawn_local(async move {
        sweeping.sweep.run(|| sweeping.is_draining()).await;
    });
    let until = loop {
        // The first look too: what was told before this thread was there is told all the same.
        let Orders { live, phase } = orders.borrow_and_update().clone();
        match phase {
            Phase::Serving => {}
            Phase::Stopped => return Ok(()),
            Phase::Draining(until) => break until,
        }
        if !Arc::ptr_eq(&live, &hub.view().live) {
            hub.view.replace(View::new(live));
        }
        let Ok(()) = orders.changed().await else { return Ok(()) };
    };
    hub.draining.set(true);
    hub.drain.notify_waiters();
    let stopped = orders.wait_for(|orders| orders.phase == Phase::Stopped);
    let finished = async {
        while accepting.join_next().await.is_some() {}
        hub.sweep.look(true);
        while hub.connections.get() > 0 {
            hub.empty.notified().await;
        }
    };
    tokio::select! {
        () = finished => {}
        () = tokio::time::sleep_until(until.into()) => {
            tracing::warn!(connections = hub.connections.get(), "drain time is over");
        }
        _ = stopped => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
