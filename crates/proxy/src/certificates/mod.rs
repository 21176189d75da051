//! Certificates from files and folders, reloaded while connections are served.
//!
//! [`Certificates::load`] fails with the first problem. [`Certificates::reload`] never removes a
//! certificate because of a problem: each pair stays in use until valid files replace it, and is
//! removed when its files are gone. A [`tercel::files::FileWatch`] reloads when files change.
//!
//! An expired certificate is accepted (with a warning) by `load`, so that one expired certificate
//! does not stop the service of all other names, but `reload` never replaces another certificate by
//! an expired one.

pub mod layout;
pub mod problem;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use tercel::crypto::KeyKind;
pub use tercel::files::CredentialFiles as Files;
use tercel::files::LoadedCredential;
use tercel::pki::Usage;
use tercel::pki_types::UnixTime;
use tercel::{Credential, certificates::Credentials};
use tercel_crypto::lock::{Mutex, MutexGuard};

use crate::observability::metrics::Expiry;
use problem::{Problem, Reason};

/// The files and folders from which certificates are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Explicitly named pairs. They precede the pairs of the folder. The first of them is the
    /// default for clients without server_name.
    pub files: Vec<Files>,
    /// A folder of pairs; see [`layout`].
    pub folder: Option<PathBuf>,
    /// Whether clients that request a name for which there is no certificate are refused
    /// (`unrecognized_name`) instead of receiving the default certificate.
    pub require_known_name: bool,
}

/// The loaded certificates of a [`Source`].
pub struct Certificates {
    source: Source,
    credentials: Arc<Credentials>,
    state: Mutex<State>,
}

/// The result of one reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Newly added chains.
    pub added: Vec<PathBuf>,
    /// Chains that replaced the previous chain of the same pair.
    pub replaced: Vec<PathBuf>,
    /// Chains removed because their files are gone.
    pub removed: Vec<PathBuf>,
    /// Problems that are new since the previous reload. A pair with a problem keeps the certificate
    /// that it had.
    pub problems: Vec<Problem>,
    /// The number of all current problems, including problems of earlier reloads.
    pub outstanding: usize,
    /// World-readable private keys that were not reported before.
    pub exposed_keys: Vec<PathBuf>,
    /// Certificates without a key that were not reported before.
    pub keyless: Vec<PathBuf>,
    /// What the new files contain, if some of it is skipped.
    pub skipped: Vec<String>,
}

impl Changes {
    /// Whether the set of certificates changed.
    #[must_use]
    pub fn any(&self) -> bool {
        !(self.added.is_empty() && self.replaced.is_empty() && self.removed.is_empty())
    }

    /// Logs one event for each change and each problem.
    pub fn log(&self) {
        for (files, what) in
            [(&self.added, "added"), (&self.replaced, "replaced"), (&self.removed, "removed")]
        {
            for file in files {
                tracing::info!(?file, "certificate {what}");
            }
        }
        for problem in &self.problems {
            tracing::error!(%problem, "certificate rejected; keeping the previous one");
        }
        for file in &self.keyless {
            tracing::info!(?file, "certificate without a private key ignored");
        }
        for contents in &self.skipped {
            tracing::info!(%contents, "sections of a certificate or key file skipped");
        }
        for file in &self.exposed_keys {
            tracing::warn!(?file, "private key is world-readable");
        }
    }
}

#[derive(Default)]
struct State {
    /// The loaded pairs, by position and chain file.
    pairs: BTreeMap<Id, Loaded>,
    /// Problems already reported.
    reported: Vec<Problem>,
    exposed: Vec<PathBuf>,
    keyless: Vec<PathBuf>,
}

/// A pair's position and chain file. Explicitly named pairs sort before the pairs of the folder.
type Id = (usize, PathBuf);

struct Loaded {
    files: Files,
    digest: [u8; 32],
    pair: LoadedCredential,
}

impl Certificates {
    /// Reads all files. The returned changes report expired certificates and world-readable keys.
    ///
    /// # Errors
    ///
    /// The first problem other than a leaf outside its validity period.
    pub fn load(source: Source) -> Result<(Self, Changes), Problem> {
        let mut state = State::default();
        let changes = state.read(&source, UnixTime::now(), OutOfDate::Accepted);
        if let Some(problem) = changes.problems.iter().find(|each| !each.is_validity_period()) {
            return Err(problem.clone());
        }
        if state.pairs.is_empty() {
            return Err(Problem::new(&source.folder.clone().unwrap_or_default(), Reason::Empty));
        }
        let mut credentials = Credentials::new(state.credentials());
        if source.require_known_name {
            credentials = credentials.require_known_name();
        }
        let credentials = Arc::new(credentials);
        Ok((Self { source, credentials, state: Mutex::new(state) }, changes))
    }

    /// The set for [`tercel::server::ServerConfigBuilder::replaceable_credentials`]. Every reload
    /// updates the set.
    #[must_use]
    pub fn credentials(&self) -> Arc<Credentials> {
        Arc::clone(&self.credentials)
    }

    /// Reads all files again. A pair with a problem keeps its certificate. A pair whose files have
    /// not changed is not loaded again.
    ///
    /// Blocks on file reads, for milliseconds with a few pairs; do not call it on a worker thread.
    pub fn reload(&self) -> Changes {
        self.reload_at(UnixTime::now())
    }

    fn reload_at(&self, now: UnixTime) -> Changes {
        let mut state = self.state();
        let changes = state.read(&self.source, now, OutOfDate::Rejected);
        if changes.any() {
            self.credentials.replace(state.credentials());
        }
        changes
    }

    /// Validity of each covered name, for the metrics.
    #[must_use]
    pub fn expiries(&self) -> Vec<Expiry> {
        let of_pair = |((_, file), loaded): (&Id, &Loaded)| {
            let (file, not_after) =
                (file.to_string_lossy().into_owned(), loaded.pair.not_after().as_secs());
            let of_name =
                |name: &String| Expiry { name: name.clone(), file: file.clone(), not_after };
            loaded.pair.names().iter().map(of_name).collect::<Vec<_>>()
        };
        self.state().pairs.iter().flat_map(of_pair).collect()
    }

    /// What each file contains, and what of it is skipped.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        self.state().pairs.values().flat_map(|loaded| loaded.pair.contents().to_vec()).collect()
    }

    /// Whether a certificate covers this DNS name.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        self.state().pairs.values().any(|loaded| loaded.pair.covers(name))
    }

    /// Number of problems that the last reload left.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.state().reported.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("source", &self.source).finish_non_exhaustive()
    }
}

/// How to treat a leaf outside its validity period.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutOfDate {
    /// Accept it and report a warning.
    Accepted,
    /// Keep the previous certificate and report a problem.
    Rejected,
}

impl State {
    fn read(&mut self, source: &Source, now: UnixTime, out_of_date: OutOfDate) -> Changes {
        let mut changes = Changes::default();
        let mut problems = Vec::new();
        let mut exposed = Vec::new();
        let mut sources: Vec<(Id, &Files)> = Vec::new();
        for (place, files) in source.files.iter().enumerate() {
            sources.push(((place, files.chain.clone()), files));
        }
        let found = source.folder.as_deref().map(layout::scan);
        let found = found.unwrap_or_else(|| Ok(layout::ScanResult::default()));
        let found = found.unwrap_or_else(|problem| {
            problems.push(problem);
            layout::ScanResult::default()
        });
        problems.extend(found.problems);
        for files in &found.files {
            sources.push(((usize::MAX, files.chain.clone()), files));
        }
        // An empty folder is treated like an unreadable folder: it is reported, and no certificate
        // is removed.
        let unreported =
            |folder: &&PathBuf| problems.iter().all(|problem| problem.file != **folder);
        let empty = source.folder.as_ref().filter(|_| sources.is_empty()).filter(unreported);
        problems.extend(empty.map(|folder| Problem::new(folder, Reason::Empty)));
        for (id, files) in &sources {
            match self.read_pair(id, files, now, out_of_date, &mut exposed) {
                Ok(None) => {}
                Ok(Some(NewPair { new, warning, skipped })) => {
                    changes.skipped.extend(skipped);
                    let list = if new { &mut changes.added } else { &mut changes.replaced };
                    list.push(files.chain.clone());
                    problems.extend(warning);
                }
                Err(problem) => problems.push(problem),
            }
        }
        self.remove_all_but(&sources, &mut problems, &mut changes);
        changes.outstanding = problems.len();
        changes.problems = newly_seen(&mut self.reported, problems);
        changes.exposed_keys = newly_seen(&mut self.exposed, exposed);
        changes.keyless = newly_seen(&mut self.keyless, found.keyless);
        changes
    }

    /// Loads a pair if its bytes have changed.
    fn read_pair(
        &mut self,
        id: &Id,
        files: &Files,
        now: UnixTime,
        out_of_date: OutOfDate,
        exposed: &mut Vec<PathBuf>,
    ) -> Result<Option<NewPair>, Problem> {
        let bytes = files.read()?;
        exposed.extend(bytes.has_exposed_key().then(|| files.key.clone()));
        let digest = bytes.digest();
        if self.pairs.get(id).is_some_and(|loaded| loaded.digest == digest) {
            return Ok(None);
        }
        let pair = bytes.parse(Usage::Server)?;
        let warning = match pair.check_time(now).map_err(Problem::from) {
            Err(problem) if out_of_date == OutOfDate::Rejected => return Err(problem),
            other => other.err(),
        };
        let skipped = if pair.skipped() > 0 { pair.contents().to_vec() } else { Vec::new() };
        let new =
            self.pairs.insert(id.clone(), Loaded { files: files.clone(), digest, pair }).is_none();
        Ok(Some(NewPair { new, warning, skipped }))
    }

    /// Removes pairs whose files are gone. If the chain file still exists, the pair is being
    /// replaced or removed at this moment, so it is not removed.
    fn remove_all_but(
        &mut self,
        sources: &[(Id, &Files)],
        problems: &mut Vec<Problem>,
        changes: &mut Changes,
    ) {
        self.pairs.retain(|id, Loaded { files, .. }| {
            // The problem concerns one of the pair's files, or the folder that contains them.
            let of_pair = |problem: &Problem| {
                files.chain.starts_with(&problem.file) || files.key == problem.file
            };
            if sources.iter().any(|(other, _)| other == id) || problems.iter().any(of_pair) {
                return true;
            }
            if files.chain.exists() {
                let missing = files.key.file_name().unwrap_or_default().to_string_lossy();
                let reason = Reason::MissingPartner { missing: missing.into_owned() };
                problems.push(Problem::new(&files.chain, reason));
                return true;
            }
            changes.removed.push(files.chain.clone());
            false
        });
    }

    /// Copies of all credentials: explicitly named pairs first, then by key type, then by name.
    fn credentials(&self) -> Vec<Credential> {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_by_key(|((place, _), loaded)| (*place, preference(loaded.pair.kind())));
        pairs.into_iter().map(|(_, loaded)| loaded.pair.credential()).collect()
    }
}

/// The sort order of key types for the same name. The first type that a client can verify is used,
/// so types that are stronger or cheaper to sign with come first.
fn preference(kind: KeyKind) -> u8 {
    match kind {
        KeyKind::MlDsa44 | KeyKind::MlDsa65 | KeyKind::MlDsa87 => 0,
        KeyKind::EcdsaP256 | KeyKind::EcdsaP384 | KeyKind::EcdsaP521 | KeyKind::Ed25519 => 1,
        // RSA and unknown types.
        _ => 2,
    }
}

/// A pair that was added or replaced.
struct NewPair {
    new: bool,
    /// A warning, if the leaf is outside its validity period.
    warning: Option<Problem>,
    /// What the files contain, if some of it is skipped.
    skipped: Vec<String>,
}

/// Returns the elements of `now` that are not in `reported`, and sets `reported` to `now`.
fn newly_seen<T: Clone + PartialEq>(reported: &mut Vec<T>, now: Vec<T>) -> Vec<T> {
    let new = now.iter().filter(|each| !reported.contains(each)).cloned().collect();
    *reported = now;
    new
}
