//! Nodes of a fleet, whole or in parts, and what they need.
//!
//! Must not know: which store it is. Next: the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::counts::{Counters, Counts};
use crate::early_data::{ANY_TERMS, Guard, Terms, blind_time};
use crate::keeper::StoreKeeper;
use crate::mark::Mark;
use crate::secret::FleetSecret;
use crate::secrets::{FleetSecrets, SecretCell};
use crate::sessions::Sessions;
use crate::settings::StoreSettings;
use crate::store::dial::Address;
use crate::store::{Lines, Store};
use crate::ticket_keys::FleetTickets;
use crate::ticket_keys::shared::StoreKeys;

/// What a node has, without the keeper: the test says when what happens.
pub(super) struct Node {
    pub(super) store: Arc<Store>,
    pub(super) guard: Guard,
    pub(super) sessions: Arc<Sessions>,
    pub(super) keys: StoreKeys,
    pub(super) tickets: Arc<FleetTickets>,
    pub(super) secrets: Arc<SecretCell>,
    pub(super) mark: Mark,
    counters: Arc<Counters>,
    address: Address,
}

pub(super) const PREFIX: &str = "tercel:{test}:";
pub(super) const PERIOD: u64 = 1000;
pub(super) const DIFFERENCE: u64 = 5;
pub(super) const TERMS: Terms = Terms { difference: DIFFERENCE, patience: 5 * LIMIT.as_millis() };
/// For as long nodes here are blind.
pub(super) const BLIND: Duration = blind_time(60, DIFFERENCE);
/// And for as long if they do not know the terms of those before.
pub(super) const BLIND_FOR_ANY: Duration = BLIND.saturating_add(ANY_TERMS);

impl Node {
    pub(super) async fn at(url: &str) -> Self {
        Self::with_secret(url, &FleetSecret::new(&[7; 32], "test")).await
    }

    pub(super) async fn with_secret(url: &str, secret: &FleetSecret) -> Self {
        Self::with_secrets(url, FleetSecrets::new(secret, None, None)).await
    }

    pub(super) async fn with_secrets(url: &str, secrets: FleetSecrets) -> Self {
        let secrets = SecretCell::new(secrets);
        let known = || Arc::clone(&secrets);
        let counters = Arc::new(Counters::default());
        let store = Arc::new(Store::new(LIMIT, 5 * LIMIT, Arc::clone(&counters)));
        let (at, count) = (|| Arc::clone(&store), || Arc::clone(&counters));
        let period = Duration::from_secs(PERIOD);
        let tickets = Arc::new(FleetTickets::new(period));
        let node = Self {
            guard: Guard::new(at(), PREFIX, TERMS, BLIND, ANY_TERMS, count()),
            sessions: Arc::new(Sessions::new(at(), PREFIX, known(), count())),
            keys: StoreKeys::new(at(), PREFIX, known(), Arc::clone(&tickets), period, count()),
            mark: Mark::new(at(), PREFIX, known()),
            secrets: known(),
            tickets,
            store: at(),
            counters: count(),
            address: Address::of(&StoreSettings::new(url, "")).unwrap(),
        };
        node.connect().await;
        node
    }

    /// One that is set otherwise.
    pub(super) async fn with_terms(url: &str, terms: Terms) -> Self {
        let mut node = Self::at(url).await;
        let (store, counters) = (Arc::clone(&node.store), Arc::clone(&node.counters));
        node.guard = Guard::new(store, PREFIX, terms, BLIND, ANY_TERMS, counters);
        node
    }

    /// As the keeper does when it has found the store.
    pub(super) async fn connect(&self) {
        let lost = Arc::new(Notify::new());
        let connection = self.address.dial(&lost).await.unwrap();
        self.store.set(Some(Arc::new(Lines::new(vec![connection], lost))));
    }

    /// What looks after the store of this node, found at `url`, and after nothing else.
    pub(super) fn keeper(&self, url: &str) -> StoreKeeper {
        StoreKeeper {
            store: Arc::clone(&self.store),
            address: Address::of(&StoreSettings::new(url, "")).unwrap(),
            connections: 2,
            connect_limit: LIMIT,
            guard: None,
            keys: None,
            mark: None,
            probe: format!("{PREFIX}probe"),
            counters: Arc::clone(&self.counters),
        }
    }

    /// Whether a hello that was just judged is admitted.
    pub(super) async fn admit(&self, unique: &[u8]) -> bool {
        self.guard.admit(unique, UnixTime::now()).await
    }

    pub(super) async fn look(&self) -> Result<(), String> {
        let lines = self.store.lines().unwrap();
        self.guard.look(&lines).await.map_err(|error| error.to_string())
    }

    pub(super) fn counts(&self) -> Counts {
        self.counters.read()
    }

    pub(super) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

/// Long enough for a busy machine: what has to be fast is asked for without a clock.
pub(super) const LIMIT: Duration = Duration::from_secs(1);

pub(super) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// A folder that goes with the test.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tercel-fleet-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A file that only its owner reads.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        set_mode(&path, 0o600);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &Path, _: u32) {}

/// Waits until it is so, for ten seconds at most.
pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "not so after ten seconds: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
