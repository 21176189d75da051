//! Keys for Encrypted ClientHello that all nodes of a fleet have: one set in the store. RFC 9849
//!
//! Ticket keys are rotated by the nodes. These keys are published by the operator, because each new
//! key has to be in DNS before servers send its configuration to clients.
//! [`sealed_set`](crate::sealed_set) describes how nodes agree on one set.
//!
//! A node without the store keeps its set, and saves it to a file for its next start.
//!
//! ```text
//! content: 1 | seconds since 1970, 8 | for each key: sent to clients, 1 | length, 2 | PEM
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tercel::ech::{Key, Keys, Retry};
use tercel::pki_types::UnixTime;
use tercel_crypto::lock::{Mutex, MutexGuard};
use tokio::time::sleep;
use tracing::{info, warn};
use zeroize::Zeroizing;

use crate::error::FleetError;
use crate::sealed_set::{ATTEMPTS, Compared, PROPAGATION, SealedSet, StoredSet};
use crate::secrets::SharedSecrets;
use crate::secrets::files::read_private;
use crate::store::Store;

/// A set of keys for Encrypted ClientHello, for
/// [`Fleet::publish_ech_keys`](crate::Fleet::publish_ech_keys).
pub struct EchKeySet(Zeroizing<Vec<u8>>);

impl EchKeySet {
    /// Creates a set. `since` is the time at which the newest of the keys that are sent to clients
    /// was made.
    ///
    /// # Errors
    /// [`FleetError::EchKeys`] if a server could not use these keys together.
    pub fn new(keys: &[(Key, Retry)], since: UnixTime) -> Result<Self, FleetError> {
        let refused = |error: &dyn std::fmt::Display| FleetError::EchKeys(error.to_string());
        // The capacity suffices: growing would leave copies of private keys behind.
        let mut content = Zeroizing::new(Vec::with_capacity(LONGEST));
        content.push(VERSION);
        content.extend_from_slice(&since.as_secs().to_be_bytes());
        for (key, retry) in keys {
            let pem = Zeroizing::new(key.to_pem().map_err(|error| refused(&error))?);
            let length = u16::try_from(pem.len()).unwrap_or(u16::MAX);
            if content.len().saturating_add(usize::from(length)) > LONGEST - 3 {
                return Err(refused(&"the ECH keys are too long"));
            }
            content.push((*retry == Retry::Send).into());
            content.extend_from_slice(&length.to_be_bytes());
            content.extend_from_slice(pem.as_bytes());
        }
        let parsed = Parsed::of(&content)?;
        Keys::new(parsed.keys).map_err(|error| refused(&error))?;
        Ok(Self(content))
    }
}

impl std::fmt::Debug for EchKeySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EchKeySet").finish_non_exhaustive()
    }
}

/// The content of a set.
struct Parsed {
    keys: Vec<(Key, Retry)>,
    since: UnixTime,
    public_names: Vec<String>,
}

impl Parsed {
    fn of(content: &[u8]) -> Result<Self, FleetError> {
        let malformed = || FleetError::EchKeys("the set of ECH keys is malformed".to_owned());
        let rest = content.strip_prefix(&[VERSION]).ok_or_else(malformed)?;
        let (since, mut rest) = rest.split_first_chunk::<8>().ok_or_else(malformed)?;
        let (mut keys, mut public_names) = (Vec::new(), Vec::new());
        while let Some((head, after)) = rest.split_first_chunk::<3>() {
            let [sent, high, low] = *head;
            let length = usize::from(u16::from_be_bytes([high, low]));
            let (pem, after) = after.split_at_checked(length).ok_or_else(malformed)?;
            let key = Key::from_pem(pem).map_err(|error| FleetError::EchKeys(error.to_string()))?;
            public_names.push(key.public_name().to_owned());
            keys.push((key, if sent == 0 { Retry::AcceptOnly } else { Retry::Send }));
            rest = after;
        }
        if !rest.is_empty() {
            return Err(malformed());
        }
        let since = UnixTime::since_unix_epoch(Duration::from_secs(u64::from_be_bytes(*since)));
        Ok(Self { keys, since, public_names })
    }
}

/// The keys in the store, and the set that this node uses.
pub(crate) struct StoreEchKeys {
    stored: StoredSet,
    /// The address of the store.
    url: Zeroizing<String>,
    /// The keys that configurations of servers have. They may be keys of before a reload, which do
    /// not belong to the fleet and are never written to the store.
    pub(crate) keys: Arc<Keys>,
    cache: Option<PathBuf>,
    in_use: Mutex<InUse>,
    /// Whether a set is known, or it is known that none was published.
    is_known: AtomicBool,
    /// Locked while keys are refreshed, never in a handshake.
    refreshing: tokio::sync::Mutex<()>,
}

/// The set in use, and what a server requires of the next one.
#[derive(Default)]
struct InUse {
    set: Option<Arc<SealedSet>>,
    since: Option<UnixTime>,
    public_names: Vec<String>,
    accepts: Option<AcceptsName>,
}

/// Whether a server can use keys with this public name.
pub(crate) type AcceptsName = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl StoreEchKeys {
    /// Uses the keys in the file `cache`, if there are any, until those of the store are known.
    pub(crate) fn new(
        store: Arc<Store>,
        prefix: &str,
        secrets: Arc<SharedSecrets>,
        url: &str,
        cache: Option<&Path>,
    ) -> Self {
        let name = format!("{prefix}ech-keys");
        let own = Self {
            stored: StoredSet::new(store, name, secrets, |keys| &keys.ech_keys),
            url: Zeroizing::new(url.to_owned()),
            keys: Arc::new(Keys::empty()),
            cache: cache.map(Path::to_owned),
            in_use: Mutex::default(),
            is_known: AtomicBool::new(false),
            refreshing: tokio::sync::Mutex::default(),
        };
        own.read_cache();
        own
    }

    /// Synchronises this node with the store.
    ///
    /// # Errors
    /// If the store is unavailable or its set is rejected. The previous keys stay in use.
    pub(crate) async fn refresh(&self) -> Result<(), FleetError> {
        let _refreshing = self.refreshing.lock().await;
        self.synchronise().await
    }

    async fn synchronise(&self) -> Result<(), FleetError> {
        // If another node made a change meanwhile, another attempt is needed.
        for _ in 0..ATTEMPTS {
            if self.sync_once().await? {
                return Ok(());
            }
        }
        Err(FleetError::StoreUnavailable)
    }

    /// Makes one read and at most one write. Returns whether the node and the store are in sync.
    async fn sync_once(&self) -> Result<bool, FleetError> {
        let known = self.known();
        let found = match self.stored.compare(known.as_deref()).await? {
            Compared::Missing => {
                // The known set is not of this fleet, because the secret was replaced. Its keys
                // stay in use, as keys from before a reload do, and are not written to the store.
                self.in_use().set = None;
                let was_known = self.is_known.swap(true, Ordering::AcqRel);
                if self.has_keys() && (known.is_some() || !was_known) {
                    warn!("store has no ECH keys; the keys before the reload stay in use");
                }
                return Ok(true);
            }
            Compared::Restored => return Ok(false),
            Compared::Replaced => {
                warn!("store has older ECH keys; replacing them with the current ones");
                self.stored.store.counters.ech_keys_refused.add();
                return Ok(false);
            }
            Compared::Found(found) => found,
        };
        let own = self.take(found)?;
        if self.stored.renew(&own).await? {
            info!("encrypting ECH keys with the new fleet secret");
            return Ok(false);
        }
        Ok(true)
    }

    /// Uses this set of the store from now on.
    fn take(&self, found: SealedSet) -> Result<Arc<SealedSet>, FleetError> {
        let known = self.known();
        if known.as_ref().is_none_or(|known| known.content != found.content) {
            let keys = self.use_keys(&found)?;
            self.stored.store.counters.ech_keys_changed.add();
            info!(number = found.number, keys, "ECH keys loaded from store");
        }
        let found = Arc::new(found);
        self.in_use().set = Some(Arc::clone(&found));
        if known.is_none_or(|known| known.sealed != found.sealed) {
            self.write_cache(&found.sealed);
        }
        Ok(found)
    }

    /// Returns the number of keys.
    fn use_keys(&self, set: &SealedSet) -> Result<usize, FleetError> {
        let Parsed { keys, since, public_names } = Parsed::of(&set.content)?;
        let accepts = self.in_use().accepts.clone();
        if let Some(accepts) = accepts {
            check_names(&public_names, &*accepts)?;
        }
        let number = keys.len();
        self.keys.replace(keys).map_err(|error| FleetError::EchKeys(error.to_string()))?;
        let mut in_use = self.in_use();
        in_use.since = Some(since);
        in_use.public_names = public_names;
        self.is_known.store(true, Ordering::Release);
        Ok(number)
    }

    /// Publishes a set, and waits until all connected nodes have read it. Returns its number.
    ///
    /// # Errors
    /// If the store is unavailable, or another set replaced this one meanwhile.
    pub(crate) async fn publish(&self, set: &EchKeySet) -> Result<u64, FleetError> {
        {
            let _refreshing = self.refreshing.lock().await;
            self.write(set).await?;
        }
        // A node that knows a newer set, because the store was restored, replaces this one within
        // that time.
        sleep(Duration::from_secs(PROPAGATION)).await;
        self.refresh().await?;
        let known = self.known().filter(|known| known.content == set.0);
        known.map(|known| known.number).ok_or(FleetError::Superseded)
    }

    /// Writes a set to the store, and uses it.
    pub(crate) async fn write(&self, set: &EchKeySet) -> Result<(), FleetError> {
        for _ in 0..ATTEMPTS {
            self.synchronise().await?;
            let known = self.known();
            if known.as_ref().is_some_and(|known| known.content == set.0) {
                return Ok(());
            }
            self.stored.write(known.as_deref(), &set.0).await?;
        }
        Err(FleetError::Superseded)
    }

    /// Sets what the server requires of keys, and checks those in use.
    pub(crate) fn set_accepts(&self, accepts: AcceptsName) {
        self.in_use().accepts = Some(accepts);
    }

    /// Checks the public names of the keys in use.
    pub(crate) fn check(&self, accepts: &dyn Fn(&str) -> bool) -> Result<(), FleetError> {
        let names = self.in_use().public_names.clone();
        check_names(&names, accepts)
    }

    /// Uses the set of a node that this node replaces in the same process. If that node belongs to
    /// another fleet, its keys are used only until those of this fleet are known.
    pub(crate) fn follow(&self, other: &Self) {
        let is_same_place = self.stored.name == other.stored.name && self.url == other.url;
        let theirs =
            other.known().filter(|theirs| is_same_place && self.stored.is_of_fleet(theirs));
        let Some(theirs) = theirs else { return self.keep(&other.keys) };
        if self.known().is_some_and(|own| !self.stored.supersedes(&theirs, &own)) {
            return;
        }
        // The set was usable for the other node.
        if self.use_keys(&theirs).is_ok() {
            self.in_use().set = Some(theirs);
        }
    }

    /// Uses these keys until those of the fleet are known. They are never written to the store.
    pub(crate) fn keep(&self, keys: &Keys) {
        if !self.has_keys() {
            self.keys.replace_with(keys);
        }
    }

    /// Whether there are keys in use: those of the fleet, or others until those are known.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.retry_configs().is_empty()
    }

    /// Whether a set is known, or it is known that none was published.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// The number of the set in use.
    pub(crate) fn number(&self) -> Option<u64> {
        self.known().map(|known| known.number)
    }

    pub(crate) fn since(&self) -> Option<UnixTime> {
        self.in_use().since
    }

    fn known(&self) -> Option<Arc<SealedSet>> {
        self.in_use().set.clone()
    }

    fn in_use(&self) -> MutexGuard<'_, InUse> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_cache(&self) {
        let Some(cache) = &self.cache else { return };
        let read = match read_private(cache) {
            Err(FleetError::File(_, error)) if error.kind() == io::ErrorKind::NotFound => return,
            read => read.and_then(|sealed| {
                let set = self.stored.open(&sealed)?;
                self.use_keys(&set)?;
                Ok(set)
            }),
        };
        match read {
            Ok(set) => self.in_use().set = Some(Arc::new(set)),
            Err(error) => warn!(reason = %error, "saved ECH keys ignored"),
        }
    }

    fn write_cache(&self, sealed: &[u8]) {
        let Some(cache) = &self.cache else { return };
        if let Err(error) = write_private(cache, sealed) {
            let file = cache.display();
            warn!(%file, reason = %error, "ECH keys not saved for the next start");
        }
    }
}

/// Keys with another public name would lock out clients whose key is out of date.
fn check_names(names: &[String], accepts: &dyn Fn(&str) -> bool) -> Result<(), FleetError> {
    match names.iter().find(|name| !accepts(name)) {
        None => Ok(()),
        Some(name) => Err(FleetError::EchKeys(format!(
            "no listener has a certificate for the public name {name}, so that clients whose ECH \
             configuration is outdated could not connect: add one, or use a key with another name"
        ))),
    }
}

/// Writes a file that only its owner can read, as a whole.
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    // The file of an interrupted attempt may have another mode.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(new, path)
}

/// The version of the content.
const VERSION: u8 = 1;

/// The maximum length of the content. Sixteen keys with the longest names have 11 KB. A file with
/// the sealed content is read as a file of secrets is, which may have 16 KiB.
const LONGEST: usize = 12 << 10;
