//! State shared by the connections of one worker thread.

pub(crate) mod connection_limits;
pub(crate) mod idle_timer;
pub(crate) mod log_limits;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::active_config::{ActiveConfig, ActiveListener};
use crate::backend::round_robin::RoundRobin;
use crate::config::Timeouts;
use crate::observability::metrics::Shard;
use connection_limits::{ConnectionCounts, ConnectionLimits, WorkerCounts};
use idle_timer::IdleTimers;
use log_limits::LogLimits;

/// The state shared by the tasks of one worker.
pub(crate) struct WorkerContext {
    config: RefCell<Rc<WorkerConfig>>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) counts: Rc<WorkerCounts>,
    pub(crate) idle_timers: Rc<IdleTimers>,
    /// The rate limits of log events about single connections.
    pub(crate) log_limits: LogLimits,
    draining: Cell<Option<Drain>>,
    /// Notified when a drain begins.
    pub(crate) drain: Notify,
    connections: Cell<usize>,
    empty: Notify,
}

/// The active configuration, with this worker's load balancing state.
pub(crate) struct WorkerConfig {
    pub(crate) active: Arc<ActiveConfig>,
    /// The load balancing state of each listener and route.
    round_robin: Vec<Vec<RoundRobin>>,
}

impl WorkerConfig {
    fn new(active: Arc<ActiveConfig>) -> Rc<Self> {
        let round_robin = active.listeners.iter().map(|listener| {
            listener.routes.iter().map(|route| RoundRobin::new(route.backends.len())).collect()
        });
        Rc::new(Self { round_robin: round_robin.collect(), active })
    }

    pub(crate) fn listener(&self, number: usize) -> Option<&ActiveListener> {
        self.active.listeners.get(number)
    }

    pub(crate) fn round_robin(&self, listener: usize, route: usize) -> Option<&RoundRobin> {
        self.round_robin.get(listener)?.get(route)
    }

    pub(crate) fn limits(&self, listener: usize) -> ConnectionLimits {
        ConnectionLimits {
            process: self.active.limits.connections,
            per_listener: self.listener(listener).and_then(|listener| listener.connections),
            per_client: self.active.limits.per_client,
        }
    }
}

impl WorkerContext {
    pub(crate) fn new(
        active: Arc<ActiveConfig>,
        shard: Arc<Shard>,
        counts: Arc<ConnectionCounts>,
    ) -> Rc<Self> {
        let times = &active.timeouts;
        let shortest = times.idle.min(times.half_closed).min(times.park);
        Rc::new(Self {
            idle_timers: IdleTimers::new(shortest),
            config: RefCell::new(WorkerConfig::new(active)),
            shard,
            counts: Rc::new(WorkerCounts(counts)),
            log_limits: LogLimits::default(),
            draining: Cell::new(None),
            drain: Notify::new(),
            connections: Cell::new(0),
            empty: Notify::new(),
        })
    }

    /// Uses another configuration for new connections.
    pub(crate) fn set_config(&self, active: Arc<ActiveConfig>) {
        if !Arc::ptr_eq(&active, &self.config().active) {
            self.config.replace(WorkerConfig::new(active));
        }
    }

    /// Begins a drain, which ends at this time at the latest: the listeners stop accepting.
    pub(crate) fn begin_drain(&self, until: Instant) {
        self.draining.set(Some(Drain { began: Instant::now(), until }));
        self.drain.notify_waiters();
    }

    /// The number of open connections of this worker.
    pub(crate) fn connections(&self) -> usize {
        self.connections.get()
    }

    /// Waits until this worker has no connection.
    pub(crate) async fn wait_until_empty(&self) {
        while self.connections.get() > 0 {
            self.empty.notified().await;
        }
    }

    /// The configuration in use. A connection keeps it until it is closed.
    pub(crate) fn config(&self) -> Rc<WorkerConfig> {
        Rc::clone(&self.config.borrow())
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.config.borrow().active.timeouts.clone()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get().is_some()
    }

    pub(crate) fn drain_state(&self) -> Option<Drain> {
        self.draining.get()
    }
}

/// A drain in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drain {
    began: Instant,
    until: Instant,
}

/// The longest patience.
const PATIENCE: Duration = Duration::from_secs(5);

impl Drain {
    /// How long this drain has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// How long a connection without a request is kept. The patience ends with the drain, so that
    /// clients which keep making requests are closed in a pause between two of them.
    pub(crate) fn patience(&self) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        left.div_f64(4.0).min(PATIENCE)
    }
}

/// Counts a connection of the worker while it exists.
pub(crate) struct ConnectionGuard(Rc<WorkerContext>);

impl ConnectionGuard {
    pub(crate) fn new(worker: &Rc<WorkerContext>) -> Self {
        worker.connections.set(worker.connections.get().saturating_add(1));
        Self(Rc::clone(worker))
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let left = self.0.connections.get().saturating_sub(1);
        self.0.connections.set(left);
        if left == 0 {
            self.0.empty.notify_one();
        }
    }
}
