//! Removal of sessions whose connection ended with a fatal alert. RFC 5246 7.2.2
//!
//! Connections must not block on the store, so they put session IDs into a bounded queue, which
//! the thread of the node processes. While the store is unavailable, IDs stay in the queue. A
//! session stays resumable until it expires if the queue is full, the store refuses the command,
//! or the node ends before the session is removed.

use std::sync::Arc;
use std::time::Duration;

use tercel::session::ForgetSession;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::sleep;

use super::Sessions;
use crate::error::FleetError;

/// The sending end of the queue, for connections.
#[derive(Clone)]
pub(crate) struct RemovalQueue(Sender<[u8; 32]>);

impl ForgetSession for RemovalQueue {
    fn forget_session(&self, id: &[u8; 32]) {
        let _ = self.0.try_send(*id);
    }
}

/// The task that processes the queue.
pub(crate) struct RemovalTask {
    ids: Receiver<[u8; 32]>,
    sessions: Arc<Sessions>,
}

/// Makes a queue, and the task that processes it.
pub(crate) fn removal_queue(sessions: Arc<Sessions>) -> (RemovalQueue, RemovalTask) {
    let (sender, ids) = channel(CAPACITY);
    (RemovalQueue(sender), RemovalTask { ids, sessions })
}

impl RemovalTask {
    /// Removes sessions until all senders are gone.
    pub(crate) async fn run(mut self) {
        while let Some(id) = self.ids.recv().await {
            let removed = loop {
                match self.sessions.forget(&id).await {
                    Err(FleetError::StoreUnavailable) => sleep(RETRY_INTERVAL).await,
                    done => break done,
                }
            };
            if matches!(removed, Ok(true)) {
                self.sessions.store.counters.removed.add();
            }
        }
    }
}

/// The maximum number of session IDs in the queue.
const CAPACITY: usize = 1024;

/// Time between two attempts while the store is unavailable.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
