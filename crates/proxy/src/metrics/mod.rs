//! What the terminator counts, and how Prometheus reads it.
//!
//! Each worker counts into a [`Shard`] of its own: no write is shared between threads and nothing is locked on the way.
//! The shards are added up when somebody asks. What changes a few times a day ([`Reload`], certificates, ticket keys) is kept
//! once, behind a lock that no connection touches.
//!
//! | family | what it tells | labels |
//! |---|---|---|
//! | `tercel_build` | the program's version | `version` |
//! | `process_start_time_seconds` | when the process started | |
//! | `tercel_connections_accepted` | connections accepted | |
//! | `tercel_connections_open` | connections open now | |
//! | `tercel_connections_refused` | closed before their handshake | `reason` |
//! | `tercel_accept_errors` | calls of `accept` that failed | `reason` |
//! | `tercel_client_received_bytes`, `tercel_client_sent_bytes` | plaintext from and to clients | |
//! | `tercel_handshakes` | handshakes completed | `version`, `suite`, `group`, `outcome` |
//! | `tercel_handshake_failures` | handshakes that failed | `reason`, `alert` |
//! | `tercel_handshake_retries` | those that took a HelloRetryRequest | |
//! | `tercel_handshake_duration_seconds` | from acceptance to the end of the handshake | |
//! | `tercel_resumptions` | completed with an earlier session, or without | `result`: `hit`, `miss` |
//! | `tercel_early_data_rejected` | handshakes whose early data was rejected | |
//! | `tercel_early_data_handed_on` | handshakes whose early data went to a backend | `when`: `at_once`, `after_handshake` |
//! | `tercel_early_data_abandoned` | those at once whose handshake then failed | |
//! | `tercel_backend_failures` | connections to backends that failed | `reason` |
//! | `tercel_backend_connect_duration_seconds` | until a connection to a backend stands | |
//! | `tercel_reloads` | attempts to read something anew | `what`, `result`: `ok`, `failed` |
//! | `tercel_certificate_not_after_seconds` | last moment of validity, since 1970 | `name`, `file` |
//! | `tercel_ticket_key_age_seconds` | how long the ticket key in use has been sealing | |
//!
//! Counters end in `_total` in the text. The resumption rate of five minutes is
//! `sum(rate(tercel_resumptions_total{result="hit"}[5m])) / sum(rate(tercel_resumptions_total[5m]))`.
//!
//! Labels come from closed sets ([`labels`]), so that no client can make new ones.
//!
//! Must not know: sockets, HTTP, logs. Next: [`Shard`], what a worker calls; `expose`, the names.

mod expose;
mod histogram;
pub mod labels;
mod shard;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tercel::crypto::lock::{Mutex, MutexGuard};

use labels::Reload;
pub use shard::Shard;
use tercel::pki_types::UnixTime;

/// The type of what [`Metrics::render`] gives, for the `Content-Type` field.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All counters of one process.
#[derive(Debug)]
pub struct Metrics {
    shards: Vec<Arc<Shard>>,
    started: SystemTime,
    rare: Mutex<Rare>,
    ticket_keys: Mutex<Option<TicketKeys>>,
}

/// Who knows since when the ticket key in use has been sealing.
struct TicketKeys(Box<dyn Fn() -> Option<UnixTime> + Send + Sync>);

impl std::fmt::Debug for TicketKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TicketKeys").finish_non_exhaustive()
    }
}

/// What no connection changes.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Counts of good and of failed reloads.
    reloads: BTreeMap<Reload, [u64; 2]>,
    certificates: Vec<Expiry>,
}

/// How long one name is covered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry {
    /// A DNS name of the leaf, or its subject if it has none.
    pub name: String,
    /// The file that it was read from.
    pub file: String,
    /// The leaf's last moment of validity, in seconds since 1970.
    pub not_after: u64,
}

impl Metrics {
    /// Counters for so many workers; the start of the process is now.
    #[must_use]
    pub fn new(shards: usize) -> Arc<Self> {
        Arc::new(Self {
            shards: (0..shards.max(1)).map(|_| Arc::new(Shard::default())).collect(),
            started: SystemTime::now(),
            rare: Mutex::default(),
            ticket_keys: Mutex::default(),
        })
    }

    /// The counters of worker `index`. Past the last one they are shared again from the first on: slower, never wrong.
    #[must_use]
    pub fn shard(&self, index: usize) -> Arc<Shard> {
        let index = index.checked_rem(self.shards.len()).unwrap_or_default();
        self.shards.get(index).map(Arc::clone).unwrap_or_default()
    }

    /// Counts an attempt to read something anew.
    pub fn reloaded(&self, what: Reload, succeeded: bool) {
        let mut rare = self.rare();
        let [good, failed] = rare.reloads.entry(what).or_default();
        let count = if succeeded { good } else { failed };
        *count = count.saturating_add(1);
    }

    /// Says which certificates are shown from now on. Of two for one name and file the sooner end counts.
    pub fn set_certificates(&self, mut certificates: Vec<Expiry>) {
        certificates.sort();
        certificates
            .dedup_by(|later, first| (&later.name, &later.file) == (&first.name, &first.file));
        self.rare().certificates = certificates;
    }

    /// Says who knows since when the ticket key in use has been sealing; asked whenever somebody looks.
    pub fn set_ticket_keys(&self, since: impl Fn() -> Option<UnixTime> + Send + Sync + 'static) {
        let mut keys = self.ticket_keys.lock().unwrap_or_else(PoisonError::into_inner);
        *keys = Some(TicketKeys(Box::new(since)));
    }

    fn ticket_key_since(&self) -> Option<UnixTime> {
        let keys = self.ticket_keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.as_ref().and_then(|keys| keys.0())
    }

    /// How many connections are open, over all workers.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        // Closed first: a connection that opens and closes between the two reads must not make it negative.
        let closed: u64 = self.shards.iter().map(|shard| shard.closed.get()).sum();
        let opened: u64 = self.shards.iter().map(|shard| shard.opened.get()).sum();
        opened.saturating_sub(closed)
    }

    /// Everything as OpenMetrics text, of type [`CONTENT_TYPE`].
    #[must_use]
    pub fn render(&self) -> String {
        expose::render(self)
    }

    fn rare(&self) -> MutexGuard<'_, Rare> {
        self.rare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds since 1970; 0 for what lies before.
fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
