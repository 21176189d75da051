//! The keys for Encrypted ClientHello, from the files of a folder. RFC 9934
//!
//! All keys open ClientHellos. Only the newest by file name, or those that the configuration names,
//! are sent to clients whose configuration is out of date. The files are used as a whole: while one
//! of them has a problem, the previous keys stay in use.
//!
//! A client whose key was removed connects under the key's public name, and gets the current
//! configurations only if it can verify a certificate for this name. So keys without such a
//! certificate are rejected.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use nix::fcntl::OFlag;
use tercel::crypto::HashAlgorithm;
use tercel::ech::{Key, Keys, Retry};
use tercel::files::{FileSnapshot, WatchedFiles};
use tercel::pki_types::UnixTime;
use tercel_crypto::Hash;
use tercel_crypto::lock::{Mutex, MutexGuard};
use zeroize::Zeroizing;

use crate::config::{EchFolder, without_number};

/// Maximum size of a file. A key and its configuration have some hundred bytes.
const MAX_FILE: u64 = 16 * 1024;

/// The loaded keys of a folder.
pub(crate) struct EchKeys {
    settings: EchFolder,
    keys: Arc<Keys>,
    /// Held only while values in memory are read or set.
    state: Mutex<State>,
    /// Held for a whole reload, so that an older state of the files does not replace a newer one.
    reloading: Mutex<()>,
}

/// Whether a certificate for this name is shown to clients that request it.
type HasCertificate = Box<dyn Fn(&str) -> bool + Send + Sync>;

struct State {
    digest: [u8; 32],
    public_names: Vec<String>,
    /// When the newest of the keys that are sent to clients was written.
    since: Option<UnixTime>,
    has_certificate: Option<HasCertificate>,
    problem: Option<Problem>,
}

/// The reason why the keys of a folder cannot be used, with the file that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    file: PathBuf,
    reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.reason)
    }
}

/// The result of a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EchChange {
    /// Other keys are in use: their number, and the files of those that are sent to clients.
    Replaced(usize, Vec<String>),
    /// The files cannot be used, for another reason than before.
    Rejected(Problem),
}

impl EchChange {
    pub(crate) fn log(&self) {
        match self {
            Self::Replaced(keys, sent) => tracing::info!(keys, ?sent, "ECH keys replaced"),
            Self::Rejected(problem) => {
                tracing::error!(%problem, "ECH keys rejected; keeping the previous ones");
            }
        }
    }
}

/// The files of a folder, parsed.
pub(crate) struct Loaded {
    pub(crate) keys: Vec<(Key, Retry)>,
    pub(crate) sent: Vec<String>,
    digest: [u8; 32],
    pub(crate) since: Option<UnixTime>,
}

impl EchKeys {
    /// Reads all files. Certificates are checked later, by [`Self::check_public_names`].
    pub(crate) fn load(settings: &EchFolder) -> Result<Self, Problem> {
        let Loaded { keys, digest, since, .. } = Loaded::read(settings)?;
        let public_names = keys.iter().map(|(key, _)| key.public_name().to_owned()).collect();
        let keys = Keys::new(keys).map_err(|error| Problem::new(&settings.directory, error))?;
        let state = State { digest, public_names, since, has_certificate: None, problem: None };
        let (settings, keys, state) = (settings.clone(), Arc::new(keys), Mutex::new(state));
        Ok(Self { settings, keys, state, reloading: Mutex::default() })
    }

    pub(crate) fn settings(&self) -> &EchFolder {
        &self.settings
    }

    /// The set for [`tercel::server::ServerConfigBuilder::ech`]. Every reload updates the set.
    pub(crate) fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys)
    }

    /// Checks the public names of the keys in use against other listeners.
    pub(crate) fn check_public_names(
        &self,
        has_certificate: impl Fn(&str) -> bool,
    ) -> Result<(), Problem> {
        check_names(&self.settings, &self.state().public_names, has_certificate)
    }

    /// Sets the listeners against which later reloads check public names.
    pub(crate) fn set_listeners(
        &self,
        has_certificate: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) {
        self.state().has_certificate = Some(Box::new(has_certificate));
    }

    /// Reads all files again. Returns `None` if nothing has changed.
    pub(crate) fn reload(&self) -> Option<EchChange> {
        let _reloading = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        // Reading may block, for example on a network file system.
        let loaded = Loaded::read(&self.settings);
        let mut state = self.state();
        match loaded.and_then(|loaded| self.replace(&mut state, loaded)) {
            Ok(replaced) => {
                state.problem = None;
                replaced
            }
            Err(problem) => {
                let is_new = state.problem.as_ref() != Some(&problem);
                state.problem = Some(problem.clone());
                is_new.then_some(EchChange::Rejected(problem))
            }
        }
    }

    fn replace(&self, state: &mut State, loaded: Loaded) -> Result<Option<EchChange>, Problem> {
        let Loaded { keys, sent, digest, since } = loaded;
        if digest == state.digest {
            return Ok(None);
        }
        let names: Vec<_> = keys.iter().map(|(key, _)| key.public_name().to_owned()).collect();
        if let Some(has_certificate) = &state.has_certificate {
            check_names(&self.settings, &names, has_certificate)?;
        }
        let number = keys.len();
        let replaced = self.keys.replace(keys);
        replaced.map_err(|error| Problem::new(&self.settings.directory, error))?;
        state.digest = digest;
        state.public_names = names;
        state.since = since;
        Ok(Some(EchChange::Replaced(number, sent)))
    }

    /// When the newest of the keys that are sent to clients was written.
    pub(crate) fn since(&self) -> Option<UnixTime> {
        self.state().since
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedFiles for EchKeys {
    type Changes = EchChange;

    fn snapshot(&self) -> FileSnapshot {
        let mut snapshot = FileSnapshot::new();
        snapshot.add_folder(&self.settings.directory, false);
        snapshot
    }

    fn reload(&self) -> Option<EchChange> {
        Self::reload(self)
    }

    fn has_problems(&self) -> bool {
        self.state().problem.is_some()
    }

    fn reload_panicked(&self) {
        tracing::error!("reload of changed files failed; trying again");
    }
}

impl fmt::Debug for EchKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchKeys").field("settings", &self.settings).finish_non_exhaustive()
    }
}

fn check_names(
    settings: &EchFolder,
    names: &[String],
    has_certificate: impl Fn(&str) -> bool,
) -> Result<(), Problem> {
    match names.iter().find(|name| !has_certificate(name)) {
        None => Ok(()),
        Some(name) => Err(Problem::new(&settings.directory, without_certificate(name))),
    }
}

/// What is wrong if no listener has a certificate for this public name. RFC 9849 6.1.6
pub(crate) fn without_certificate(name: &str) -> String {
    format!(
        "no listener has a certificate for the public name {name}, so that clients whose ECH \
         configuration is outdated could not connect: add one, or use a key with another name"
    )
}

impl Problem {
    fn new(file: &Path, reason: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), reason: reason.to_string() }
    }

    fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self::new(file, without_number(error))
    }
}

impl Loaded {
    pub(crate) fn read(settings: &EchFolder) -> Result<Self, Problem> {
        let directory = &settings.directory;
        let names = names_of_keys(directory)?;
        let Some(newest) = names.last() else {
            let reason = "has no *.ech file; `tercel ech generate` makes one";
            return Err(Problem::new(directory, reason));
        };
        let is_sent = |name: &String| match &settings.retry[..] {
            [] => name == newest,
            named => named.contains(name),
        };
        if let Some(missing) = settings.retry.iter().find(|name| !names.contains(name)) {
            let reason = "does not exist, but `retry` names it";
            return Err(Problem::new(&directory.join(missing), reason));
        }
        let (mut keys, mut sent, mut since) = (Vec::new(), Vec::new(), None);
        let mut digests = Vec::new();
        for name in &names {
            let path = directory.join(name);
            let (pem, modified) =
                read_file(&path).map_err(|error| Problem::unreadable(&path, &error))?;
            let key = Key::from_pem(&pem).map_err(|error| {
                let reason = format!("{error}; `tercel ech generate` makes a valid file");
                Problem::new(&path, reason)
            })?;
            digests.extend_from_slice(&Hash::digest(HashAlgorithm::Sha256, &[&pem]));
            digests.push(is_sent(name).into());
            if is_sent(name) {
                since = since.max(Some(modified));
                sent.push(name.clone());
            }
            keys.push((key, if is_sent(name) { Retry::Send } else { Retry::AcceptOnly }));
        }
        let digest = Hash::digest(HashAlgorithm::Sha256, &[&digests]);
        let digest = digest.first_chunk().copied().unwrap_or_default();
        let since = since.map(std::time::Duration::from_secs).map(UnixTime::since_unix_epoch);
        Ok(Self { keys, sent, digest, since })
    }
}

/// The names of the folder's key files, sorted.
fn names_of_keys(directory: &Path) -> Result<Vec<String>, Problem> {
    let unreadable = |error| Problem::unreadable(directory, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(".ech") && !name.starts_with('.') {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The content of a file, and the time of its last modification in seconds since the Unix epoch.
fn read_file(path: &Path) -> io::Result<(Zeroizing<Vec<u8>>, u64)> {
    // Opening a FIFO must not block.
    let nonblocking = OFlag::O_NONBLOCK.bits();
    let file = fs::File::options().read(true).custom_flags(nonblocking).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    // A private key, as the fleet's keys.
    if tercel_fleet::is_exposed(&metadata) {
        return Err(io::Error::other("is readable by others; restrict it with chmod 640"));
    }
    if metadata.len() > MAX_FILE {
        return Err(io::Error::other("has more than 16 KiB"));
    }
    // The capacity suffices from the start: a growing vector would leave copies of the key in
    // memory.
    let mut pem = Zeroizing::new(vec![0; usize::try_from(metadata.len()).unwrap_or(0)]);
    (&file).read_exact(&mut pem)?;
    Ok((pem, u64::try_from(metadata.mtime()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc;
    use std::time::Duration;

    use tercel::files::FileWatch;

    use super::*;
    use crate::config::Ech;
    use crate::testing::Folder;

    fn settings(folder: &Folder) -> EchFolder {
        let text = format!(
            "[ech]\ndirectory = \"{}\"\n[[listener]]\naddress = \":1\"\nto = \"unix:/a\"\n\
             certificates = \"c\"\n",
            folder.path().display()
        );
        let Some(Ech::Folder(folder)) = crate::Config::parse("f.toml", &text).unwrap().ech else {
            panic!("no folder")
        };
        folder
    }

    fn write(folder: &Folder, name: &str, content: &str) {
        let new = folder.path().join("new");
        fs::write(&new, content).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(new, folder.path().join(name)).unwrap();
    }

    fn pem() -> String {
        Key::generate("cover.example", 0).unwrap().to_pem().unwrap()
    }

    /// A read that does not end, as on a network file system, delays no handshake and no scrape.
    #[test]
    fn reading_takes_no_lock_that_others_need() {
        let folder = Folder::new();
        write(&folder, "1.ech", &pem());
        let keys = Arc::new(EchKeys::load(&settings(&folder)).unwrap());
        let reloading = keys.reloading.lock().unwrap();
        let (sender, ended) = mpsc::channel();
        let other = Arc::clone(&keys);
        let reload = std::thread::spawn(move || {
            let change = other.reload();
            sender.send(()).unwrap();
            change
        });
        assert!(ended.recv_timeout(Duration::from_millis(100)).is_err(), "reloads wait");
        assert!(keys.since().is_some() && keys.check_public_names(|_| true).is_ok());
        keys.set_listeners(|_| true);
        assert!(!keys.has_problems());
        drop(reloading);
        assert_eq!(reload.join().unwrap(), None);
    }

    #[test]
    fn changed_files_are_read_by_the_watch() {
        let folder = Folder::new();
        write(&folder, "1.ech", &pem());
        let keys = Arc::new(EchKeys::load(&settings(&folder)).unwrap());
        keys.set_listeners(|name| name == "cover.example");
        let (sender, changes) = mpsc::channel();
        let changed = move |change: &EchChange| sender.send(change.clone()).unwrap();
        let interval = Duration::from_millis(20);
        let watch = FileWatch::start("ech keys", Arc::clone(&keys), interval, changed).unwrap();
        let next = || changes.recv_timeout(Duration::from_secs(10)).unwrap();
        write(&folder, "2.ech", &pem());
        assert_eq!(next(), EchChange::Replaced(2, vec!["2.ech".to_owned()]));
        let retry_configs = keys.keys().retry_configs();
        write(&folder, "3.ech", "not a key");
        assert!(matches!(next(), EchChange::Rejected(problem) if problem.file.ends_with("3.ech")));
        assert_eq!(keys.keys().retry_configs(), retry_configs);
        // An older key is removed, and the file is repaired.
        fs::remove_file(folder.path().join("1.ech")).unwrap();
        write(&folder, "3.ech", &pem());
        let replaced = std::iter::repeat_with(next)
            .find(|change| *change == EchChange::Replaced(2, vec!["3.ech".to_owned()]));
        assert!(replaced.is_some() && keys.keys().retry_configs() != retry_configs);
        let age = UnixTime::now().as_secs().saturating_sub(keys.since().unwrap().as_secs());
        assert!(age < 100, "{age}");
        drop(watch);
        assert!(!format!("{keys:?}").contains("PRIVATE"));
    }
}
