//! The background work of a node: connecting to the store, refreshing ticket keys, and checking
//! that the store still has its data.
//!
//! It runs on a thread of its own, which drives all connections to the store. So a connection does
//! not end together with the runtime of the server that used it first, and this work blocks no
//! runtime of the server.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel_crypto::fill_random;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{debug, error, info, warn};

use crate::early_data::StoreReplayGuard;
use crate::ech_keys::StoreEchKeys;
use crate::error::FleetError;
use crate::sessions::secret_check::SecretCheck;
use crate::store::client::{MultiplexedConnection, StoreAddress, StoreTls, cmd};
use crate::store::{Caller, Connections, Store, probe};
use crate::ticket_keys::file::TicketKeyFile;
use crate::ticket_keys::shared::StoreTicketKeys;

/// Reads the key file at an interval. Each read is one short file.
pub(crate) async fn watch_file(file: &TicketKeyFile) {
    let mut ticks = interval(FILE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Rejected files are logged by the reader.
        let _ = file.read();
    }
}

/// Why connections are no longer maintained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// They were lost.
    Lost,
    /// They were made with other TLS files than those to be used now.
    TlsChanged,
}

/// The task that keeps a node connected to its store.
pub(crate) struct StoreTask {
    pub(crate) store: Arc<Store>,
    pub(crate) address: Arc<StoreAddress>,
    pub(crate) connections: usize,
    pub(crate) connect_time_limit: Duration,
    pub(crate) guard: Option<Arc<StoreReplayGuard>>,
    pub(crate) keys: Option<Arc<StoreTicketKeys>>,
    pub(crate) ech_keys: Option<Arc<StoreEchKeys>>,
    pub(crate) secret_check: Option<SecretCheck>,
    /// A key that never exists, for checking that writes are accepted.
    pub(crate) probe: String,
}

impl StoreTask {
    /// Connects, and reconnects with backoff whenever the connections are lost.
    pub(crate) async fn run(&self) {
        let mut pause = MIN_BACKOFF;
        let mut logged = None;
        let mut stale_keys_logged = false;
        let mut tls = self.address.tls_changes();
        loop {
            let lost = Arc::new(Notify::new());
            // A change from here on replaces the connections.
            drop(tls.borrow_and_update());
            match self.connect(&lost).await {
                Ok(connections) => {
                    info!("connected to store");
                    let connected_at = Instant::now();
                    let connections = Arc::new(Connections::new(connections, lost));
                    self.store.counters.connected.add();
                    if self.maintain(&connections, &mut tls).await == Ended::TlsChanged {
                        info!("TLS files of the store changed; connecting again");
                        // Requests use these connections until the attempt has ended.
                        (logged, stale_keys_logged) = (None, false);
                        continue;
                    }
                    self.store.set_connections(None);
                    logged = connections.unusable().map(str::to_owned);
                    match &logged {
                        Some(reason) => warn!(reason, "store connection lost"),
                        None => warn!("store connection lost"),
                    }
                    self.log_stale_ech_keys();
                    stale_keys_logged = true;
                    if connected_at.elapsed() > MAX_BACKOFF {
                        pause = MIN_BACKOFF;
                    }
                }
                Err(reason) => {
                    self.store.set_connections(None);
                    if logged.as_ref() != Some(&reason) {
                        warn!(reason, "cannot connect to store");
                        if !stale_keys_logged {
                            self.log_stale_ech_keys();
                            stale_keys_logged = true;
                        }
                        logged = Some(reason);
                    }
                }
            }
            sleep(jitter(pause)).await;
            pause = pause.saturating_mul(2).min(MAX_BACKOFF);
        }
    }

    async fn connect(&self, lost: &Arc<Notify>) -> Result<Vec<MultiplexedConnection>, String> {
        let connecting = async {
            let mut connections = Vec::with_capacity(self.connections);
            for _ in 0..self.connections {
                connections.push(self.address.connect(lost).await?);
            }
            if let Some(connection) = connections.first_mut() {
                probe(connection, &self.probe).await?;
            }
            Ok(connections)
        };
        let timed_out = Err("timed out".to_owned());
        timeout(self.connect_time_limit, connecting).await.unwrap_or(timed_out)
    }

    /// Makes these connections available to handshakes, and checks the store at an interval until
    /// the connections are lost or the TLS files change. Connections are lost if they break, if the
    /// store reports itself unusable, or if no reply arrives within the time limit for connecting.
    async fn maintain(
        &self,
        connections: &Arc<Connections>,
        tls: &mut watch::Receiver<StoreTls>,
    ) -> Ended {
        self.store.set_connections(Some(Arc::clone(connections)));
        let mut refusal_log = RefusalLog::default();
        let mut rejection_logged = None;
        let mut ech_rejection_logged = None;
        let mut mismatch_logged = false;
        let mut ticks = interval(STORE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = connections.lost.notified() => {
                    self.store.set_connections(None);
                    if !self.store.recovers(connections).await {
                        return Ended::Lost;
                    }
                    debug!("store timed out and recovered");
                    self.store.set_connections(Some(Arc::clone(connections)));
                    continue;
                }
                Ok(()) = tls.changed() => return Ended::TlsChanged,
                _ = ticks.tick() => {}
            }
            if let Some(guard) = &self.guard {
                refusal_log.update(&guard.observe(connections).await);
            }
            if let Some(keys) = &self.keys {
                self.log_ticket_keys(&mut rejection_logged, keys.refresh(UnixTime::now()).await);
            }
            if let Some(keys) = &self.ech_keys {
                self.log_ech_keys(&mut ech_rejection_logged, keys.refresh().await);
            }
            if let Some(secret_check) = &self.secret_check {
                self.log_secret_check(&mut mismatch_logged, secret_check.run().await);
            }
            let asks = self.guard.is_some() || self.keys.is_some() || self.ech_keys.is_some();
            if !asks && self.secret_check.is_none() {
                let _ = self.store.run_command::<String>(Caller::Background, cmd("PING")).await;
            }
        }
    }

    /// Logs once that the secret differs from the secret of the other nodes, and again only if it
    /// matched in between.
    fn log_secret_check(&self, mismatch_logged: &mut bool, outcome: Result<(), FleetError>) {
        match outcome {
            Ok(()) => *mismatch_logged = false,
            Err(error @ FleetError::SecretMismatch) if !*mismatch_logged => {
                warn!(reason = %error, "sessions of other nodes cannot be resumed");
                *mismatch_logged = true;
            }
            Err(_) => {}
        }
    }

    /// Logs rejected keys once, and again only if keys were accepted in between.
    fn log_ticket_keys(
        &self,
        rejection_logged: &mut Option<String>,
        outcome: Result<(), FleetError>,
    ) {
        match outcome {
            Ok(()) => *rejection_logged = None,
            Err(FleetError::StoreUnavailable) => {
                debug!("ticket keys not refreshed: store unavailable");
            }
            Err(error) => {
                let reason = error.to_string();
                if rejection_logged.as_ref() != Some(&reason) {
                    warn!(reason, "ticket keys rejected; keeping the previous ones");
                    self.store.counters.ticket_keys_refused.add();
                    *rejection_logged = Some(reason);
                }
            }
        }
    }

    /// Logs rejected keys for Encrypted ClientHello as [`Self::log_ticket_keys`] does.
    fn log_ech_keys(&self, logged: &mut Option<String>, outcome: Result<(), FleetError>) {
        match outcome {
            Ok(()) => *logged = None,
            // The loss of the store is logged.
            Err(FleetError::StoreUnavailable) => {}
            Err(error) => {
                let reason = error.to_string();
                if logged.as_ref() != Some(&reason) {
                    if self.ech_keys.as_ref().is_some_and(|keys| keys.has_keys()) {
                        warn!(reason, "ECH keys in the store rejected; keeping the previous ones");
                    } else {
                        error!(
                            reason,
                            "ECH keys in the store rejected and none known; ECH is not accepted"
                        );
                    }
                    self.store.counters.ech_keys_refused.add();
                    *logged = Some(reason);
                }
            }
        }
    }

    /// Logs what the loss of the store means for Encrypted ClientHello.
    fn log_stale_ech_keys(&self) {
        match &self.ech_keys {
            None => {}
            Some(keys) if keys.has_keys() => {
                let number = keys.number();
                warn!(number, "store unavailable; the last known ECH keys stay in use");
            }
            Some(_) => error!("store unavailable and no ECH keys known; ECH is not accepted"),
        }
    }
}

/// Logs once why early data is refused, and again only when the reason changes.
#[derive(Default)]
struct RefusalLog(Option<String>);

impl RefusalLog {
    fn update(&mut self, outcome: &Result<(), FleetError>) {
        match outcome {
            Ok(()) | Err(FleetError::StoreUnavailable) => self.0 = None,
            Err(error) => {
                let reason = error.to_string();
                if self.0.as_ref() != Some(&reason) {
                    warn!(reason, "early data refused");
                    self.0 = Some(reason);
                }
            }
        }
    }
}

/// A random part of the pause, at least half of it, so that nodes do not all reconnect at once.
fn jitter(pause: Duration) -> Duration {
    let mut random = [0; 1];
    // Without random bytes there is no jitter. This has no other effect.
    let _ = fill_random(&mut random);
    let share = u32::from(random[0]).saturating_add(256);
    pause.saturating_mul(share).checked_div(512).unwrap_or(pause)
}

const FILE_INTERVAL: Duration = Duration::from_secs(1);
const STORE_INTERVAL: Duration = Duration::from_secs(1);
const MIN_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
