//! Connections that are made and then stay idle.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::connection::{Failure, Workload};
use super::thread_shares::ThreadShare;

/// Makes the connections of a thread and gives each to a task of its own. The number of connections
/// made concurrently is the number of the thread's loops.
pub(crate) async fn open(workload: &Rc<Workload>, share: &ThreadShare) {
    let left = Rc::new(Cell::new(share.idle));
    let openers = share.loops.iter().map(|_| {
        let (workload, left) = (Rc::clone(workload), Rc::clone(&left));
        tokio::task::spawn_local(async move {
            while left.get() > 0 {
                left.set(left.get() - 1);
                open_one(&workload).await;
            }
        })
    });
    for opener in openers.collect::<Vec<_>>() {
        let _ = opener.await;
    }
}

async fn open_one(workload: &Rc<Workload>) {
    let transport = match workload.connect(workload.client()).await {
        Ok(transport) => transport,
        Err(failure) => return workload.failed(&failure),
    };
    workload.counters.done.fetch_add(1, Ordering::Relaxed);
    let workload = Rc::clone(workload);
    tokio::task::spawn_local(async move {
        let failure = match transport.closed().await {
            Ok(()) => Failure::closed("idle"),
            Err(error) => Failure::new("idle", &error),
        };
        workload.counters.done.fetch_sub(1, Ordering::Relaxed);
        workload.failed(&failure);
    });
}

/// Waits, and counts the connections that are still open.
pub(crate) async fn hold(workload: &Workload, duration: Duration) {
    tokio::time::sleep(duration).await;
    workload.statistics.borrow_mut().done = workload.counters.done.load(Ordering::Relaxed);
}
