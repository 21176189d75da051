//! Prometheus metrics.
//!
//! Each worker increments the counters of its own [`Shard`], so that threads share no cache line
//! and take no lock. A scrape adds up the shards. Metrics that change a few times a day
//! ([`Reload`], certificates, ticket keys) are stored once, behind a lock that no connection takes.
//!
//! | family | meaning | labels |
//! |---|---|---|
//! | `tercel_build` | version of the program | `version` |
//! | `process_start_time_seconds` | start time of the process | |
//! | `tercel_rejected_signatures` | wrong RSA signatures, which were not sent | |
//! | `tercel_self_test_failed` | whether a self-test failed | `primitive` |
//! | `tercel_log_lines_dropped` | log lines that could not be written | |
//! | `tercel_connections_accepted` | accepted connections | |
//! | `tercel_connections_open` | open connections | |
//! | `tercel_connections_refused` | connections refused before their handshake | `reason` |
//! | `tercel_accept_errors` | failed `accept` calls | `reason` |
//! | `tercel_client_received_bytes`, `tercel_client_sent_bytes` | plaintext from and to clients | |
//! | `tercel_passthrough_connections` | connections relayed without TLS | |
//! | `tercel_passthrough_received_bytes`, `tercel_passthrough_sent_bytes` | bytes of these | |
//! | `tercel_handshakes` | completed handshakes | `version`, `suite`, `group`, `outcome` |
//! | `tercel_handshake_failures` | failed handshakes | `reason`, `alert` |
//! | `tercel_handshake_retries` | handshakes with a HelloRetryRequest | |
//! | `tercel_handshake_duration_seconds` | time from accept to the end of the handshake | |
//! | `tercel_resumptions` | completed handshakes, resumed or not | `result`: `hit`, `miss` |
//! | `tercel_early_data_rejected` | handshakes with rejected early data | |
//! | `tercel_early_data_handed_on` | forwarded early data | `when`: `at_once`, `after_handshake` |
//! | `tercel_early_data_abandoned` | handshakes that failed after `at_once` | |
//! | `tercel_ech` | Encrypted ClientHellos: [`EchResult`](labels::EchResult) | `result` |
//! | `tercel_backend_failures` | failed backend connections | `reason` |
//! | `tercel_backend_connect_duration_seconds` | time to connect to a backend | |
//! | `tercel_reloads` | reload attempts | `what`, `result`: `ok`, `failed` |
//! | `tercel_certificate_not_after_seconds` | end of validity, Unix time | `name`, `file` |
//! | `tercel_ticket_key_age_seconds` | age of the current ticket key | |
//! | `tercel_ech_key_age_seconds` | age of the newest key that clients are sent | |
//! | `tercel_ech_key_set` | number of the shared set of these keys in use | |
//! | `tercel_store_connected` | whether the store is connected | |
//!
//! Counters have the suffix `_total` in the text. The share of resumed handshakes within five
//! minutes is `sum(rate(tercel_resumptions_total{result="hit"}[5m])) /
//! sum(rate(tercel_resumptions_total[5m]))`.
//!
//! Label values are closed sets ([`labels`]), so that clients cannot create new time series.

mod expose;
mod histogram;
pub mod labels;
mod shard;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tercel_crypto::lock::{Mutex, MutexGuard};

use labels::Reload;
pub use shard::Shard;
use tercel::pki_types::UnixTime;
use tercel_fleet::Fleet;

/// The `Content-Type` of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    shards: Vec<Arc<Shard>>,
    started: SystemTime,
    global: Mutex<GlobalMetrics>,
    ticket_keys: Mutex<Option<TicketKeyAge>>,
    fleet: Mutex<Option<Fleet>>,
}

/// A function that returns the time at which the current ticket key began to encrypt tickets.
struct TicketKeyAge(Box<dyn Fn() -> Option<UnixTime> + Send + Sync>);

impl std::fmt::Debug for TicketKeyAge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TicketKeyAge").finish_non_exhaustive()
    }
}

/// Metrics that no connection changes.
#[derive(Clone, Debug, Default)]
struct GlobalMetrics {
    /// The numbers of successful and of failed reloads.
    reloads: BTreeMap<Reload, [u64; 2]>,
    certificates: Vec<Expiry>,
    ech_key_since: Option<UnixTime>,
}

/// The time at which the certificate for a name expires.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry {
    /// A DNS name of the leaf, or its subject if it has none.
    pub name: String,
    /// The certificate file.
    pub file: String,
    /// `notAfter` of the leaf, in seconds since the Unix epoch.
    pub not_after: u64,
}

impl Metrics {
    /// Creates the metrics for this many workers; the process counts as started now.
    #[must_use]
    pub fn new(shards: usize) -> Arc<Self> {
        Arc::new(Self {
            shards: (0..shards.max(1)).map(|_| Arc::new(Shard::default())).collect(),
            started: SystemTime::now(),
            global: Mutex::default(),
            ticket_keys: Mutex::default(),
            fleet: Mutex::default(),
        })
    }

    /// The shard of worker `index`. Workers whose index is too large share the last shard, which is
    /// slower but correct.
    #[must_use]
    pub fn shard(&self, index: usize) -> Arc<Shard> {
        let index = index.checked_rem(self.shards.len()).unwrap_or_default();
        self.shards.get(index).map(Arc::clone).unwrap_or_default()
    }

    /// Counts a reload attempt.
    pub fn reloaded(&self, what: Reload, succeeded: bool) {
        let mut global = self.global();
        let [good, failed] = global.reloads.entry(what).or_default();
        let count = if succeeded { good } else { failed };
        *count = count.saturating_add(1);
    }

    /// Sets the certificates in use. If two certificates have the same name and file, the metric
    /// shows the earlier end of validity.
    pub fn set_certificates(&self, mut certificates: Vec<Expiry>) {
        certificates.sort();
        certificates
            .dedup_by(|later, first| (&later.name, &later.file) == (&first.name, &first.file));
        self.global().certificates = certificates;
    }

    /// Sets the time at which the newest key for Encrypted ClientHello that clients are sent was
    /// written.
    pub fn set_ech_key(&self, since: Option<UnixTime>) {
        self.global().ech_key_since = since;
    }

    /// Sets the function that returns the time at which the current ticket key began to encrypt
    /// tickets. The function is called at each scrape.
    pub fn set_ticket_keys(&self, since: impl Fn() -> Option<UnixTime> + Send + Sync + 'static) {
        let mut keys = self.ticket_keys.lock().unwrap_or_else(PoisonError::into_inner);
        *keys = Some(TicketKeyAge(Box::new(since)));
    }

    /// Sets the fleet whose state is shown at each scrape.
    pub fn set_fleet(&self, fleet: Option<Fleet>) {
        *self.fleet.lock().unwrap_or_else(PoisonError::into_inner) = fleet;
    }

    fn fleet(&self) -> Option<Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn ticket_key_since(&self) -> Option<UnixTime> {
        let keys = self.ticket_keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.as_ref().and_then(|keys| keys.0())
    }

    /// The total number of open connections of all workers.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        // `closed` is read first, so that a connection that opens and closes in between cannot make
        // the difference negative.
        let closed: u64 = self.shards.iter().map(|shard| shard.closed.get()).sum();
        let opened: u64 = self.shards.iter().map(|shard| shard.opened.get()).sum();
        opened.saturating_sub(closed)
    }

    fn global(&self) -> MutexGuard<'_, GlobalMetrics> {
        self.global.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds since the Unix epoch; 0 for earlier times.
fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
