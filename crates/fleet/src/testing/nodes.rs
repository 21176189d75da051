//! Nodes of a fleet for tests, with their settings, files and clocks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::counters::{Counters, Counts};
use crate::early_data::{MAX_PARAMETER_SPREAD, Parameters, StoreReplayGuard, blind_time};
use crate::ech_keys::StoreEchKeys;
use crate::node::store_task::StoreTask;
use crate::secrets::secret::FleetSecret;
use crate::secrets::{FleetSecrets, SharedSecrets};
use crate::sessions::Sessions;
use crate::sessions::secret_check::SecretCheck;
use crate::settings::StoreSettings;
use crate::store::client::StoreAddress;
use crate::store::{Connections, Store};
use crate::ticket_keys::FleetTicketSealer;
use crate::ticket_keys::shared::StoreTicketKeys;

/// The parts of a node without its thread. The test triggers the actions of the thread itself.
pub(super) struct Node {
    pub(super) store: Arc<Store>,
    pub(super) guard: StoreReplayGuard,
    pub(super) sessions: Arc<Sessions>,
    pub(super) keys: StoreTicketKeys,
    pub(super) ech_keys: StoreEchKeys,
    pub(super) tickets: Arc<FleetTicketSealer>,
    pub(super) secrets: Arc<SharedSecrets>,
    pub(super) secret_check: SecretCheck,
    counters: Arc<Counters>,
    address: StoreAddress,
}

pub(super) const PREFIX: &str = "tercel:{test}:";
pub(super) const PERIOD: u64 = 1000;
pub(super) const DIFFERENCE: u64 = 5;
pub(super) const PARAMETERS: Parameters =
    Parameters { clock_difference: DIFFERENCE, connect_time_limit: 5 * LIMIT.as_millis() };
/// The blind time of these nodes.
pub(super) const BLIND: Duration = blind_time(Duration::from_secs(60), DIFFERENCE);
/// The blind time where earlier parameters are unknown.
pub(super) const BLIND_FOR_ANY: Duration = BLIND.saturating_add(MAX_PARAMETER_SPREAD);

impl Node {
    pub(super) async fn at(url: &str) -> Self {
        Self::with_secret(url, &FleetSecret::new(&[7; 32], "test")).await
    }

    pub(super) async fn with_secret(url: &str, secret: &FleetSecret) -> Self {
        Self::with_secrets(url, FleetSecrets::new(secret, None, None)).await
    }

    pub(super) async fn with_secrets(url: &str, secrets: FleetSecrets) -> Self {
        let secrets = SharedSecrets::new(secrets);
        let shared_secrets = || Arc::clone(&secrets);
        let counters = Arc::new(Counters::default());
        let store = Arc::new(Store::new(LIMIT, 5 * LIMIT, Arc::clone(&counters)));
        let shared_store = || Arc::clone(&store);
        let period = Duration::from_secs(PERIOD);
        let tickets = Arc::new(FleetTicketSealer::new(period));
        let node = Self {
            guard: StoreReplayGuard::new(
                shared_store(),
                PREFIX,
                PARAMETERS,
                BLIND,
                MAX_PARAMETER_SPREAD,
            ),
            sessions: Arc::new(Sessions::new(shared_store(), PREFIX, shared_secrets())),
            keys: StoreTicketKeys::new(
                shared_store(),
                PREFIX,
                shared_secrets(),
                Arc::clone(&tickets),
                period,
            ),
            ech_keys: StoreEchKeys::new(shared_store(), PREFIX, shared_secrets(), url, None),
            secret_check: SecretCheck::new(shared_store(), PREFIX, shared_secrets()),
            secrets: shared_secrets(),
            tickets,
            store: shared_store(),
            counters,
            address: StoreAddress::of(&StoreSettings::new(url, "")).unwrap(),
        };
        node.connect().await;
        node
    }

    /// The keys for Encrypted ClientHello of a node that saves them in this file.
    pub(super) fn with_ech_cache(&self, cache: &Path) -> StoreEchKeys {
        let (store, secrets) = (Arc::clone(&self.store), Arc::clone(&self.secrets));
        StoreEchKeys::new(store, PREFIX, secrets, "", Some(cache))
    }

    /// A node with other parameters.
    pub(super) async fn with_parameters(url: &str, parameters: Parameters) -> Self {
        let mut node = Self::at(url).await;
        let store = Arc::clone(&node.store);
        node.guard = StoreReplayGuard::new(store, PREFIX, parameters, BLIND, MAX_PARAMETER_SPREAD);
        node
    }

    /// Connects as the background task does.
    pub(super) async fn connect(&self) {
        let lost = Arc::new(Notify::new());
        let connection = self.address.connect(&lost).await.unwrap();
        self.store.set_connections(Some(Arc::new(Connections::new(vec![connection], lost))));
    }

    /// The task that keeps this node connected to the store at `url`, and does nothing else.
    pub(super) fn store_task(&self, url: &str) -> StoreTask {
        StoreTask {
            store: Arc::clone(&self.store),
            address: Arc::new(StoreAddress::of(&StoreSettings::new(url, "")).unwrap()),
            connections: 2,
            connect_time_limit: LIMIT,
            guard: None,
            keys: None,
            ech_keys: None,
            secret_check: None,
            probe: format!("{PREFIX}probe"),
        }
    }

    /// Whether a ClientHello that was judged just now is admitted.
    pub(super) async fn admit(&self, unique: &[u8]) -> bool {
        self.guard.admit(unique, UnixTime::now()).await
    }

    pub(super) async fn observe(&self) -> Result<(), String> {
        let connections = self.store.connections().unwrap();
        self.guard.observe(&connections).await.map_err(|error| error.to_string())
    }

    pub(super) fn counts(&self) -> Counts {
        self.counters.read()
    }
}

/// A time limit that is long enough for a busy machine. No test measures time to check that an
/// operation is fast.
pub(super) const LIMIT: Duration = Duration::from_secs(1);

pub(super) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// A folder that is removed after the test.
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

    /// Writes a file that only its owner can read.
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

/// The limit of each wait for something that has to happen. Only a test that fails waits so long,
/// on a machine under any load.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
pub(super) async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}
