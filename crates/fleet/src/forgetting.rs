//! Sessions that no node is to resume any more, on their way out of the store. RFC 5246 7.2.2
//!
//! Whoever learns of one is in the middle of a connection and does not wait: the node's thread takes it out. While the store is
//! away a bounded number of them wait for its return. What cannot be taken out, because there are too many, the store refuses,
//! or the node ends before, can be resumed until it expires. Must not know: how a session lies there. Next: [`crate::sessions`].

use std::sync::Arc;
use std::time::Duration;

use tercel::ForgetSession;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::sleep;

use crate::counts::Counters;
use crate::error::FleetError;
use crate::sessions::Sessions;

/// Where connections say which session is to go.
#[derive(Clone)]
pub(crate) struct Forgetting(Sender<[u8; 32]>);

impl ForgetSession for Forgetting {
    fn forget_session(&self, id: &[u8; 32]) {
        let _ = self.0.try_send(*id);
    }
}

/// What the node's thread does about it.
pub(crate) struct Forgotten {
    ids: Receiver<[u8; 32]>,
    sessions: Arc<Sessions>,
    counters: Arc<Counters>,
}

/// Both ends.
pub(crate) fn forgetting(
    sessions: Arc<Sessions>,
    counters: Arc<Counters>,
) -> (Forgetting, Forgotten) {
    let (sender, ids) = channel(WAITING);
    (Forgetting(sender), Forgotten { ids, sessions, counters })
}

impl Forgotten {
    /// Takes out what is told, for as long as anybody can tell.
    pub(crate) async fn take_out(mut self) {
        while let Some(id) = self.ids.recv().await {
            let forgotten = loop {
                match self.sessions.forget(&id).await {
                    Err(FleetError::Away) => sleep(AGAIN).await,
                    done => break done,
                }
            };
            if matches!(forgotten, Ok(true)) {
                self.counters.forgotten.add();
            }
        }
    }
}

/// How many may wait.
const WAITING: usize = 1024;

/// Between two attempts while the store is away.
const AGAIN: Duration = Duration::from_millis(100);
