//! Sessions that no node is to resume any more, on their way out of the store. RFC 5246 7.2.2
//!
//! Whoever learns of one is in the middle of a connection and does not wait: the node's thread takes it out. What cannot be
//! taken out, because the store is away or there are too many at once, can be resumed until it expires. Must not know: how
//! a session lies there. Next: [`crate::sessions`].

use std::sync::Arc;

use tercel::ForgetSession;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::counts::Counters;
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
            if self.sessions.look_up(&id, true).await.is_some() {
                self.counters.forgotten.add();
            }
        }
    }
}

/// So many may wait.
const WAITING: usize = 1024;
