//! Connections that are made and then say nothing.
//!
//! Must not know: what a server does with them. Next: [`super::crew`].

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::crew::Share;
use super::slot::{Failure, Job};

/// Makes the share's connections, as many at once as it has slots, and leaves each to a task of its own.
pub(crate) async fn open(job: &Rc<Job>, share: &Share) {
    let left = Rc::new(Cell::new(share.idle));
    let openers = share.slots.iter().map(|_| {
        let (job, left) = (Rc::clone(job), Rc::clone(&left));
        tokio::task::spawn_local(async move {
            while left.get() > 0 {
                left.set(left.get() - 1);
                open_one(&job).await;
            }
        })
    });
    for opener in openers.collect::<Vec<_>>() {
        let _ = opener.await;
    }
}

async fn open_one(job: &Rc<Job>) {
    let mut stream = match job.connect().await {
        Ok(stream) => stream,
        Err(failure) => return job.failed(&failure),
    };
    job.live.done.fetch_add(1, Ordering::Relaxed);
    let job = Rc::clone(job);
    tokio::task::spawn_local(async move {
        // Tickets are read too, and are no data.
        let failure = loop {
            match stream.read(&mut [0; 64]).await {
                Ok(0) => break Failure::closed("idle"),
                Ok(_) => {}
                Err(error) => break Failure::new("idle", &error),
            }
        };
        job.live.done.fetch_sub(1, Ordering::Relaxed);
        job.failed(&failure);
    });
}

/// Waits, and counts who is still there.
pub(crate) async fn hold(job: &Job, duration: Duration) {
    tokio::time::sleep(duration).await;
    job.tally.borrow_mut().done = job.live.done.load(Ordering::Relaxed);
}
