//! A credential that is replaced when its files change.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use pki_types::UnixTime;
use tercel_pki::{ReadableTime, Usage};

use super::credential::{CredentialFiles, LoadedCredential};
use super::error::{FileError, FileErrorReason, without_number};
use super::watch::{FileSnapshot, WatchedFiles, watch_while_in_use};
use crate::auth::credential::{Credential, Credentials};
use crate::sync::lock::{Mutex, MutexGuard};

/// A watcher of one certificate chain and its key, which replaces a credential when its files
/// change.
///
/// The files are polled, so that symbolic links, network file systems and Kubernetes volumes are
/// watched too. New files are used once they are complete: certificate and key match, the
/// certificate is valid now, and that of a server is for servers (RFC 5280 4.2.1.12). Until then,
/// the previous credential stays in use, and the reason is reported once.
///
/// One expression makes the credentials of a server, also for axum with
/// `tercel_hyper::HttpsListener`:
///
/// ```no_run
/// use tercel::{ServerConfig, files::CertificateWatcher};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let watcher = CertificateWatcher::new("chain.pem", "key.pem");
/// let config = ServerConfig::builder()
///     .replaceable_credentials(watcher.start(|change| eprintln!("{change}"))?)
///     .alpn(&["h2", "http/1.1"])
///     .build()?;
/// # let _ = config; Ok(()) }
/// ```
///
/// Open connections and handshakes in progress keep the credential that they have. Sessions outlive
/// a replacement if the new certificate is valid for their name: see `docs/sessions.md` of the
/// repository, under "Credential".
#[derive(Clone, Debug)]
pub struct CertificateWatcher {
    files: CredentialFiles,
    interval: Duration,
    usage: Usage,
    require_known_name: bool,
}

/// A change of the files of a [`CertificateWatcher`]. Its text is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateChange {
    /// The files contain another credential, which new handshakes use.
    Replaced {
        /// The file of the chain.
        chain: PathBuf,
        /// The end of the leaf's validity period.
        not_after: UnixTime,
    },
    /// The files cannot be used. The previous credential stays in use.
    Rejected(FileError),
    /// The credential of the start is used although it has expired or is not valid yet.
    NotValidNow(FileError),
}

impl fmt::Display for CertificateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced { chain, not_after } => {
                let until = ReadableTime(*not_after);
                write!(f, "{chain:?}: certificate replaced, valid until {until}")
            }
            Self::Rejected(error) => {
                write!(f, "{error}; certificate rejected, keeping the previous one")
            }
            Self::NotValidNow(error) => write!(f, "{error}; certificate used nevertheless"),
        }
    }
}

impl CertificateWatcher {
    /// The time between two polls, unless [`Self::interval`] is called.
    pub const INTERVAL: Duration = Duration::from_secs(5);

    /// Creates a watcher of these files, which are in PEM: the chain, leaf first, and the private
    /// key. Both may be the same file.
    #[must_use]
    pub fn new(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let files = CredentialFiles::new(chain, key);
        let interval = Self::INTERVAL;
        Self { files, interval, usage: Usage::Server, require_known_name: false }
    }

    /// Sets the file of an OCSP response (DER), which is watched too. Default: none.
    #[must_use]
    pub fn ocsp_response(mut self, file: impl Into<PathBuf>) -> Self {
        self.files.ocsp_response = Some(file.into());
        self
    }

    /// Sets the time between two polls. Files are read when two polls have found the same change.
    /// Default: [`Self::INTERVAL`].
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Makes the server refuse clients that request a host name for which the certificate is not
    /// valid, with the alert unrecognized_name. RFC 6066 3
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Makes the credential one of clients, for [`Policy::Here`](crate::Policy::Here) in
    /// [`credentials`](crate::client::ClientConfigBuilder::credentials) of a client. Default: of
    /// servers.
    #[must_use]
    pub fn for_clients(mut self) -> Self {
        self.usage = Usage::Client;
        self
    }

    /// Loads the credential and starts a thread that watches its files. The thread calls `report`
    /// with each change, and ends when the returned set is not in use any more: no configuration
    /// and no other owner has it.
    ///
    /// A certificate that has expired, or is not valid yet, is used if there is no better one, so
    /// that it does not stop the program; `report` is called before this function returns.
    ///
    /// # Errors
    /// The files cannot be used, or the thread cannot be started.
    pub fn start(
        self,
        mut report: impl FnMut(&CertificateChange) + Send + 'static,
    ) -> Result<Arc<Credentials>, FileError> {
        let Self { files, interval, usage, require_known_name } = self;
        let of_one = |credential| {
            let set = Credentials::new(vec![credential]);
            if require_known_name { set.require_known_name() } else { set }
        };
        let (watched, credentials) = Watched::new(files, usage, UnixTime::now(), of_one)?;
        if let Some(error) = watched.state().problem.clone() {
            report(&CertificateChange::NotValidNow(error));
        }
        let chain = watched.files.chain.clone();
        let started = watch_while_in_use("certificates", Arc::new(watched), interval, report);
        let not_watched = |error| FileErrorReason::NotWatched(without_number(&error));
        started.map_err(|error| FileError::new(&chain, not_watched(error)))?;
        Ok(credentials)
    }
}

/// The files of a credential that is in use.
struct Watched {
    files: CredentialFiles,
    usage: Usage,
    credentials: Weak<Credentials>,
    state: Mutex<State>,
}

struct State {
    /// The digest of the files of the credential that is in use.
    digest: [u8; 32],
    /// The reason why newer files are not in use, which was reported.
    problem: Option<FileError>,
}

impl Watched {
    fn new(
        files: CredentialFiles,
        usage: Usage,
        now: UnixTime,
        of_one: impl FnOnce(Credential) -> Credentials,
    ) -> Result<(Self, Arc<Credentials>), FileError> {
        let bytes = files.read()?;
        let digest = bytes.digest();
        let loaded = bytes.parse(usage)?;
        let problem = loaded.check_time(now).err();
        let credentials = Arc::new(of_one(loaded.credential()));
        let (weak, state) = (Arc::downgrade(&credentials), Mutex::new(State { digest, problem }));
        Ok((Self { files, usage, credentials: weak, state }, credentials))
    }

    fn reload_at(&self, now: UnixTime) -> Option<CertificateChange> {
        // Reading may block, for example on a network file system.
        let loaded = self.load(now);
        let mut state = self.state();
        match loaded {
            Ok(None) => {
                state.problem = None;
                None
            }
            Ok(Some((digest, loaded))) => {
                self.credentials.upgrade()?.replace(vec![loaded.credential()]);
                *state = State { digest, problem: None };
                let chain = self.files.chain.clone();
                Some(CertificateChange::Replaced { chain, not_after: loaded.not_after() })
            }
            Err(problem) => {
                let is_new = state.problem.as_ref() != Some(&problem);
                state.problem = Some(problem.clone());
                is_new.then_some(CertificateChange::Rejected(problem))
            }
        }
    }

    /// Reads the files. Returns `None` if they are those of the credential that is in use.
    fn load(&self, now: UnixTime) -> Result<Option<([u8; 32], LoadedCredential)>, FileError> {
        let bytes = self.files.read()?;
        let digest = bytes.digest();
        if digest == self.state().digest {
            return Ok(None);
        }
        let loaded = bytes.parse(self.usage)?;
        loaded.check_time(now)?;
        Ok(Some((digest, loaded)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedFiles for Watched {
    type Changes = CertificateChange;

    fn snapshot(&self) -> FileSnapshot {
        let CredentialFiles { chain, key, ocsp_response } = &self.files;
        let mut snapshot = FileSnapshot::new();
        for file in [Some(chain), Some(key), ocsp_response.as_ref()].into_iter().flatten() {
            snapshot.add_file(file);
        }
        snapshot
    }

    fn reload(&self) -> Option<CertificateChange> {
        self.reload_at(UnixTime::now())
    }

    fn has_problems(&self) -> bool {
        self.state().problem.is_some()
    }

    fn is_in_use(&self) -> bool {
        self.credentials.strong_count() > 0
    }
}

#[cfg(test)]
mod tests;
