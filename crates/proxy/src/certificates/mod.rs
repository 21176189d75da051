//! Certificates from files and folders, replaced in place while connections are being made.
//!
//! At the start everything has to be right: [`Certificates::load`] gives the first problem as an error, one line with the file's name.
//! Later nothing is taken away for being wrong: [`Certificates::reload`] keeps, for each pair, what was good last, until files come that
//! are good; a pair goes when its files are gone. [`watch`] calls it when files change.
//!
//! An expired certificate is shown if it is there at the start (with a warning: its clients will complain, and those of the other
//! names need not), but never replaces another.
//!
//! Must not know: listeners, handshakes. Next: [`layout`], which files; `pair`, what is in them.

pub mod layout;
mod pair;
pub mod problem;
#[cfg(test)]
mod tests;
pub mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use tercel::crypto::lock::{Mutex, MutexGuard};
use tercel::pki_types::UnixTime;
use tercel::{Credential, Credentials};

use crate::metrics::Expiry;
use layout::Files;
use pair::{Bytes, Pair};
use problem::{Problem, Reason};

/// Where certificates are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Pairs that are named one by one. They go first; the first is shown to clients that ask for no name.
    pub files: Vec<Files>,
    /// A folder of pairs, see [`layout`].
    pub folder: Option<PathBuf>,
    /// Whether clients that ask for a name without a certificate are refused (`unrecognized_name`), in place of being shown another's.
    pub require_known_name: bool,
}

/// The certificates of a [`Source`], as they are now.
pub struct Certificates {
    source: Source,
    credentials: Arc<Credentials>,
    state: Mutex<State>,
}

/// What one reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Chains that are new.
    pub added: Vec<PathBuf>,
    /// Chains that have taken the place of what was under the same name.
    pub replaced: Vec<PathBuf>,
    /// Chains that are shown no longer, because their files are gone.
    pub removed: Vec<PathBuf>,
    /// What is wrong and was not wrong in the same way before. What it replaces is still shown.
    pub problems: Vec<Problem>,
    /// How many problems there are, old ones included.
    pub outstanding: usize,
    /// Keys that everybody on this machine may read, if they are new.
    pub exposed_keys: Vec<PathBuf>,
    /// Certificates in the folder that are passed over for want of a key, if they are new.
    pub keyless: Vec<PathBuf>,
}

impl Changes {
    /// Whether other certificates are shown than before.
    #[must_use]
    pub fn any(&self) -> bool {
        !(self.added.is_empty() && self.replaced.is_empty() && self.removed.is_empty())
    }

    /// One event for each change and each problem.
    pub fn log(&self) {
        for (files, what) in
            [(&self.added, "added"), (&self.replaced, "replaced"), (&self.removed, "removed")]
        {
            for file in files {
                tracing::info!(?file, "certificate {what}");
            }
        }
        for problem in &self.problems {
            tracing::error!(%problem, "certificate not taken, the one before it stays");
        }
        for file in &self.keyless {
            tracing::info!(?file, "certificate without a key, passed over");
        }
        for file in &self.exposed_keys {
            tracing::warn!(?file, "everybody on this machine may read this private key");
        }
    }
}

#[derive(Default)]
struct State {
    /// By the files they come from.
    pairs: BTreeMap<Id, Loaded>,
    /// Problems that were told.
    told: Vec<Problem>,
    exposed: Vec<PathBuf>,
    keyless: Vec<PathBuf>,
}

/// A pair's place in the order, and its name: pairs that are named one by one come before those of the folder.
type Id = (usize, PathBuf);

struct Loaded {
    files: Files,
    digest: [u8; 32],
    pair: Pair,
}

impl Certificates {
    /// Reads everything. The changes tell of what is expired and of keys that are not safe where they are.
    ///
    /// # Errors
    /// The first problem, if there is one other than a leaf out of its time.
    pub fn load(source: Source) -> Result<(Self, Changes), Problem> {
        let mut state = State::default();
        let changes = state.read(&source, UnixTime::now(), Expired::Shown);
        let of_time =
            |reason: &Reason| matches!(reason, Reason::Expired(_) | Reason::NotYetValid(_));
        if let Some(problem) = changes.problems.iter().find(|problem| !of_time(&problem.reason)) {
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

    /// The set for [`tercel::ServerConfigBuilder::replaceable_credentials`]; every reload puts its result in there.
    #[must_use]
    pub fn credentials(&self) -> Arc<Credentials> {
        Arc::clone(&self.credentials)
    }

    /// Reads everything again. What cannot be used leaves what was under its name before; files with the same bytes change nothing.
    ///
    /// It reads files and signs nothing: milliseconds for some pairs, so not for a thread that serves thousands.
    pub fn reload(&self) -> Changes {
        self.reload_at(UnixTime::now())
    }

    fn reload_at(&self, now: UnixTime) -> Changes {
        let mut state = self.state();
        let changes = state.read(&self.source, now, Expired::Refused);
        if changes.any() {
            self.credentials.replace(state.credentials());
        }
        changes
    }

    /// How long each name is covered, for the metrics.
    #[must_use]
    pub fn expiries(&self) -> Vec<Expiry> {
        let of_pair = |((_, file), loaded): (&Id, &Loaded)| {
            let (file, not_after) =
                (file.to_string_lossy().into_owned(), loaded.pair.not_after.as_secs());
            let of_name =
                |name: &String| Expiry { name: name.clone(), file: file.clone(), not_after };
            loaded.pair.names.iter().map(of_name).collect::<Vec<_>>()
        };
        self.state().pairs.iter().flat_map(of_pair).collect()
    }

    /// How many problems the last reading left.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.state().told.len()
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

/// What becomes of a leaf that is out of its time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expired {
    /// It is told, and shown nevertheless.
    Shown,
    /// It is told, and takes nobody's place.
    Refused,
}

impl State {
    fn read(&mut self, source: &Source, now: UnixTime, expired: Expired) -> Changes {
        let mut changes = Changes::default();
        let mut problems = Vec::new();
        let mut exposed = Vec::new();
        let mut wanted: Vec<(Id, &Files)> = Vec::new();
        for (place, files) in source.files.iter().enumerate() {
            wanted.push(((place, files.chain.clone()), files));
        }
        let found = source.folder.as_deref().map(layout::scan);
        let found = found.unwrap_or_else(|| Ok(layout::Found::default()));
        let found = found.unwrap_or_else(|problem| {
            problems.push(problem);
            layout::Found::default()
        });
        problems.extend(found.problems);
        for files in &found.files {
            wanted.push(((usize::MAX, files.chain.clone()), files));
        }
        // A folder with nothing in it is a mistake, as one that cannot be read: a problem that takes nothing away.
        let untold = |folder: &&PathBuf| problems.iter().all(|problem| problem.file != **folder);
        let empty = source.folder.as_ref().filter(|_| wanted.is_empty()).filter(untold);
        problems.extend(empty.map(|folder| Problem::new(folder, Reason::Empty)));
        for (id, files) in &wanted {
            match self.read_pair(id, files, now, expired, &mut exposed) {
                Ok(None) => {}
                Ok(Some(Taken { new, warning })) => {
                    let list = if new { &mut changes.added } else { &mut changes.replaced };
                    list.push(files.chain.clone());
                    problems.extend(warning);
                }
                Err(problem) => problems.push(problem),
            }
        }
        self.remove_all_but(&wanted, &mut problems, &mut changes);
        changes.outstanding = problems.len();
        changes.problems = news(&mut self.told, problems);
        changes.exposed_keys = news(&mut self.exposed, exposed);
        changes.keyless = news(&mut self.keyless, found.keyless);
        changes
    }

    /// Takes a pair if it is another than before and good.
    fn read_pair(
        &mut self,
        id: &Id,
        files: &Files,
        now: UnixTime,
        expired: Expired,
        exposed: &mut Vec<PathBuf>,
    ) -> Result<Option<Taken>, Problem> {
        let bytes = Bytes::read(files)?;
        exposed.extend(bytes.exposed_key.clone());
        let digest = bytes.digest();
        if self.pairs.get(id).is_some_and(|loaded| loaded.digest == digest) {
            return Ok(None);
        }
        let pair = bytes.parse(files)?;
        let warning = match pair.check_time(files, now) {
            Err(problem) if expired == Expired::Refused => return Err(problem),
            other => other.err(),
        };
        let new =
            self.pairs.insert(id.clone(), Loaded { files: files.clone(), digest, pair }).is_none();
        Ok(Some(Taken { new, warning }))
    }

    /// A pair one half of which is still there is not gone, but about to come or to go.
    fn remove_all_but(
        &mut self,
        wanted: &[(Id, &Files)],
        problems: &mut Vec<Problem>,
        changes: &mut Changes,
    ) {
        self.pairs.retain(|id, Loaded { files, .. }| {
            // A problem of one of its files, or of the folder they are in.
            let of_pair = |problem: &Problem| {
                files.chain.starts_with(&problem.file) || files.key == problem.file
            };
            if wanted.iter().any(|(other, _)| other == id) || problems.iter().any(of_pair) {
                return true;
            }
            if files.chain.exists() {
                let wanted = files.key.file_name().unwrap_or_default().to_string_lossy();
                let reason = Reason::Alone { wanted: wanted.into_owned() };
                problems.push(Problem::new(&files.chain, reason));
                return true;
            }
            changes.removed.push(files.chain.clone());
            false
        });
    }

    /// Copies of all, those first that are named one by one, then by kind of key, then by name.
    fn credentials(&self) -> Vec<Credential> {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_by_key(|((place, _), loaded)| (*place, loaded.pair.preference()));
        pairs.into_iter().map(|(_, loaded)| loaded.pair.credential()).collect()
    }
}

/// A pair that is shown from now on.
struct Taken {
    new: bool,
    /// If it is out of its time.
    warning: Option<Problem>,
}

/// What is in `now` and was not in `told`, which becomes `now`.
fn news<T: Clone + PartialEq>(told: &mut Vec<T>, now: Vec<T>) -> Vec<T> {
    let news = now.iter().filter(|each| !told.contains(each)).cloned().collect();
    *told = now;
    news
}
