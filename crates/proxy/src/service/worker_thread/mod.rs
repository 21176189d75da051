//! A worker thread. It has its own listeners and its own runtime, and does not share its
//! connections with other threads.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;
use tokio::task::LocalSet;

use super::watchdog::Heartbeat;
use crate::active_config::ActiveConfig;
use crate::listener::accept::Listener;
use crate::listener::socket::ListeningSocket;
use crate::observability::metrics::Shard;
use crate::relay::coalesce;
use crate::worker::WorkerContext;
use crate::worker::connection_limits::ConnectionCounts;

/// The configuration and the phase of the process, broadcast to all workers.
#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) active: Arc<ActiveConfig>,
    pub(crate) phase: Phase,
}

/// The phase of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Serving,
    /// The process accepts no new connections. Open connections are closed at this time at the
    /// latest.
    Draining(Instant),
    Stopped,
}

/// The parameters of a worker thread.
pub(crate) struct WorkerSetup {
    pub(crate) listeners: Vec<ListeningSocket>,
    pub(crate) control: watch::Receiver<Control>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) counts: Arc<ConnectionCounts>,
    pub(crate) heartbeat: Heartbeat,
}

/// Runs a worker until it has drained or is stopped.
pub(crate) fn run_worker(setup: WorkerSetup) -> std::io::Result<()> {
    coalesce::set_timer_slack();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().on_thread_park(coalesce::wait_if_requested).build()?;
    let tasks = LocalSet::new();
    let result = tasks.block_on(&runtime, serve(setup));
    drop(tasks);
    // Name resolution may still be running on the runtime's blocking threads.
    runtime.shutdown_background();
    result
}

async fn serve(setup: WorkerSetup) -> std::io::Result<()> {
    let WorkerSetup { listeners, mut control, shard, counts, heartbeat } = setup;
    let active = Arc::clone(&control.borrow_and_update().active);
    let worker = WorkerContext::new(active, shard, counts);
    let mut accept_loops = tokio::task::JoinSet::new();
    for (number, listener) in listeners.into_iter().enumerate() {
        accept_loops.spawn_local(Listener::new(&worker, listener, number)?.accept());
    }
    tokio::task::spawn_local(heartbeat.respond());
    let context = Rc::clone(&worker);
    tokio::task::spawn_local(async move {
        context.idle_timers.run(|| context.is_draining()).await;
    });
    let until = loop {
        // The first iteration handles the values sent before this thread started.
        let Control { active, phase } = control.borrow_and_update().clone();
        match phase {
            Phase::Serving => {}
            Phase::Stopped => return Ok(()),
            Phase::Draining(until) => break until,
        }
        worker.set_config(active);
        let Ok(()) = control.changed().await else { return Ok(()) };
    };
    worker.begin_drain(until);
    let stopped = control.wait_for(|control| control.phase == Phase::Stopped);
    let finished = async {
        while accept_loops.join_next().await.is_some() {}
        worker.idle_timers.check(true);
        worker.wait_until_empty().await;
    };
    tokio::select! {
        () = finished => {}
        () = tokio::time::sleep_until(until.into()) => {
            let connections = worker.connections();
            tracing::warn!(connections, "drain timeout reached; closing connections");
        }
        _ = stopped => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
