//! What a node does all the time: finds the store, looks after keys, and notices when the store is another.
//!
//! It runs on a thread of its own, which drives all connections to the store: they do not end with the runtime of whoever
//! asked first, and no runtime of the server's waits for anything here. Must not know: handshakes.
//! Next: [`crate::fleet`], which starts it.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tercel::crypto::fill_random;
use tercel::pki_types::UnixTime;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{debug, info, warn};

use crate::counts::Counters;
use crate::early_data::{Complaint, Guard};
use crate::error::FleetError;
use crate::mark::Mark;
use crate::store::dial::Address;
use crate::store::{Lines, Store, Waits, probe};
use crate::ticket_keys::file::KeyFile;
use crate::ticket_keys::shared::StoreKeys;

/// Reads the file again and again: a look costs one short read.
pub(crate) async fn keep_file(file: &KeyFile) {
    let mut beat = interval(FILE_BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        // Its refusals are told where they happen.
        let _ = file.read();
    }
}

/// The store, and what is to be done with it.
pub(crate) struct StoreKeeper {
    pub(crate) store: Arc<Store>,
    pub(crate) address: Address,
    pub(crate) connections: usize,
    pub(crate) connect_limit: Duration,
    pub(crate) guard: Option<Arc<Guard>>,
    pub(crate) keys: Option<Arc<StoreKeys>>,
    pub(crate) mark: Option<Mark>,
    /// A key that is never there.
    pub(crate) probe: String,
    pub(crate) counters: Arc<Counters>,
}

impl StoreKeeper {
    /// Finds the store whenever it is lost.
    pub(crate) async fn keep(&self) {
        let mut pause = SHORTEST_PAUSE;
        let mut told = None;
        loop {
            let lost = Arc::new(Notify::new());
            match self.connect(&lost).await {
                Ok(connections) => {
                    info!("the store is there");
                    let since = Instant::now();
                    let lines = Arc::new(Lines::new(connections, lost));
                    self.counters.connected.add();
                    self.attend(&lines).await;
                    self.store.set(None);
                    told = lines.useless().map(str::to_owned);
                    match &told {
                        Some(reason) => warn!(reason, "the store is away"),
                        None => warn!("the store is away"),
                    }
                    if since.elapsed() > LONGEST_PAUSE {
                        pause = SHORTEST_PAUSE;
                    }
                }
                Err(reason) => {
                    if told.as_ref() != Some(&reason) {
                        warn!(reason, "the store cannot be used");
                        told = Some(reason);
                    }
                }
            }
            sleep(spread(pause)).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    async fn connect(&self, lost: &Arc<Notify>) -> Result<Vec<MultiplexedConnection>, String> {
        let all = async {
            let mut connections = Vec::with_capacity(self.connections);
            for _ in 0..self.connections {
                connections.push(self.address.dial(lost).await?);
            }
            if let Some(connection) = connections.first_mut() {
                probe(connection, &self.probe).await?;
            }
            Ok(connections)
        };
        let late = Err("no answer in time".to_owned());
        timeout(self.connect_limit, all).await.unwrap_or(late)
    }

    /// Lets handshakes use these connections, and looks after them until they are lost: broken, of no use, or
    /// without answers for longer than connecting may take.
    async fn attend(&self, lines: &Arc<Lines>) {
        self.store.set(Some(Arc::clone(lines)));
        let mut complaint = Complaint::default();
        let mut refused = None;
        let mut foreign = false;
        let mut beat = interval(STORE_BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = lines.lost.notified() => {
                    self.store.set(None);
                    if !self.store.is_back(lines).await {
                        return;
                    }
                    debug!("the store was late");
                    self.store.set(Some(Arc::clone(lines)));
                    continue;
                }
                _ = beat.tick() => {}
            }
            if let Some(guard) = &self.guard {
                complaint.hear(&guard.look(lines).await);
            }
            if let Some(keys) = &self.keys {
                self.tell(&mut refused, keys.refresh(UnixTime::now()).await);
            }
            if let Some(mark) = &self.mark {
                self.tell_of_secret(&mut foreign, mark.look().await);
            }
            if self.guard.is_none() && self.keys.is_none() && self.mark.is_none() {
                let _ = self.store.ask::<String>(Waits::Nobody, redis::cmd("PING")).await;
            }
        }
    }

    /// Tells of a wrong secret once, and again after it was right.
    fn tell_of_secret(&self, foreign: &mut bool, outcome: Result<(), FleetError>) {
        match outcome {
            Ok(()) => *foreign = false,
            Err(error @ FleetError::ForeignSecret) if !*foreign => {
                warn!(reason = %error, "sessions of other nodes are not resumed");
                *foreign = true;
            }
            Err(_) => {}
        }
    }

    /// Tells of refused keys once, and again after they were good.
    fn tell(&self, refused: &mut Option<String>, outcome: Result<(), FleetError>) {
        match outcome {
            Ok(()) => *refused = None,
            Err(FleetError::Away) => debug!("ticket keys were not looked at: the store is away"),
            Err(error) => {
                let reason = error.to_string();
                if refused.as_ref() != Some(&reason) {
                    warn!(reason, "ticket keys refused; those from before stay");
                    self.counters.ticket_keys_refused.add();
                    *refused = Some(reason);
                }
            }
        }
    }
}

/// Between half of it and all of it, so that nodes do not come back all at once.
fn spread(pause: Duration) -> Duration {
    let mut random = [0; 1];
    // Without randomness they do.
    let _ = fill_random(&mut random);
    let share = u32::from(random[0]).saturating_add(256);
    pause.saturating_mul(share).checked_div(512).unwrap_or(pause)
}

const FILE_BEAT: Duration = Duration::from_secs(1);
const STORE_BEAT: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
