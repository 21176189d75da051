//! Notices that certificates' files have changed.
//!
//! It looks at the files' metadata every few seconds: what has no events (network file systems, Kubernetes' volumes, links that are
//! swapped) is noticed as everything else is. Nothing is read while it is being written: only when two looks in a row see the same,
//! and something other than what was read last, are the files read. Every twelfth time they are read anyway, for file systems
//! whose metadata tells too little; files with the same bytes change nothing.
//!
//! Must not know: what is in the files. Next: [`super::Certificates::reload`].

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Certificates, Changes, Source};

/// Looks until the files are read without a visible reason.
const READ_ANYWAY: u32 = 12;

/// A thread that watches; dropping it ends the thread.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Looks every `interval` and tells `changed` what each reload changed, or found wrong, if it did.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        certificates: Arc<Certificates>,
        interval: Duration,
        mut changed: impl FnMut(&Changes) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        // Seen before the thread runs: what changes from here on is noticed.
        let mut watcher = Watcher::new(certificates);
        let run = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                if let Some(changes) = watcher.look() {
                    changed(&changes);
                }
            }
        };
        let thread = std::thread::Builder::new().name("certificates".to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Its panic was printed by itself, and there is nothing left to watch.
            let _ = thread.join();
        }
    }
}

/// What was seen, and what was read.
struct Watcher {
    certificates: Arc<Certificates>,
    read: Sight,
    seen: Sight,
    looks: u32,
}

/// What there is to see of each file.
type Sight = BTreeMap<PathBuf, Stamp>;

/// Changes with every way to change a file: in place, by another in its stead, by another link to it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Watcher {
    fn new(certificates: Arc<Certificates>) -> Self {
        let seen = sight(&certificates.source);
        // What changed between the reading and now is noticed because the first look reads anyway.
        Self { certificates, read: seen.clone(), seen, looks: READ_ANYWAY }
    }

    /// Looks once. The changes, if there was a reason to read and it showed any, or a new problem.
    fn look(&mut self) -> Option<Changes> {
        let now = sight(&self.certificates.source);
        let steady = now == self.seen;
        self.seen = now;
        self.looks = self.looks.saturating_add(1);
        // What was wrong may have become right without a change: a leaf whose time has come, a key that was read before its certificate.
        let reason = self.seen != self.read
            || self.looks >= READ_ANYWAY
            || self.certificates.outstanding() > 0;
        if !(steady && reason) {
            return None;
        }
        let changes = self.certificates.reload();
        self.read = self.seen.clone();
        self.looks = 0;
        let told = !(changes.problems.is_empty()
            && changes.exposed_keys.is_empty()
            && changes.keyless.is_empty());
        (changes.any() || told).then_some(changes)
    }
}

fn sight(source: &Source) -> Sight {
    let mut sight = Sight::new();
    for files in &source.files {
        for file in [Some(&files.chain), Some(&files.key), files.ocsp_response.as_ref()] {
            file.into_iter().for_each(|file| see(file, &mut sight));
        }
    }
    let folder = source.folder.as_deref();
    folder.into_iter().for_each(|folder| see_folder(folder, true, &mut sight));
    sight
}

/// As deep as pairs are looked for.
fn see_folder(folder: &Path, deeper: bool, sight: &mut Sight) {
    see(folder, sight);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        if deeper && fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            see_folder(&path, false, sight);
        } else {
            see(&path, sight);
        }
    }
}

/// Follows links. What is not there is not seen, and that it is gone is a change.
fn see(path: &Path, sight: &mut Sight) {
    if let Ok(metadata) = fs::metadata(path) {
        let stamp = Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        sight.insert(path.to_owned(), stamp);
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;
    use crate::testing::Folder;

    fn put(folder: &Path, name: &str) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key);
        fs::write(folder.join("x.crt"), certificate.unwrap().pem()).unwrap();
        fs::write(folder.join("x.key"), key.serialize_pem()).unwrap();
    }

    fn watched(folder: &Folder) -> Watcher {
        put(folder.path(), "one.test");
        let source = Source { folder: Some(folder.path().to_owned()), ..Source::default() };
        let (certificates, _) = Certificates::load(source).unwrap();
        Watcher::new(Arc::new(certificates))
    }

    #[test]
    fn files_are_read_when_two_looks_agree() {
        let folder = Folder::new();
        let mut watcher = watched(&folder);
        assert!(watcher.look().is_none(), "nothing has changed");
        put(folder.path(), "two.test");
        assert!(watcher.look().is_none(), "it may be being written");
        fs::write(folder.path().join("x.ocsp"), "more").unwrap();
        assert!(watcher.look().is_none(), "it is being written");
        assert_eq!(watcher.look().unwrap().replaced.len(), 1);
        assert!(watcher.look().is_none());
    }

    #[test]
    fn what_metadata_does_not_tell_is_noticed_later() {
        let folder = Folder::new();
        let mut watcher = watched(&folder);
        assert!(watcher.look().is_none());
        put(folder.path(), "two.test");
        // As if the file system had told nothing.
        watcher.seen = sight(&watcher.certificates.source);
        watcher.read = watcher.seen.clone();
        for _ in 1..READ_ANYWAY {
            assert!(watcher.look().is_none());
        }
        assert_eq!(watcher.look().unwrap().replaced.len(), 1);
    }

    #[test]
    fn what_was_wrong_is_read_until_it_is_right() {
        let folder = Folder::new();
        let mut watcher = watched(&folder);
        fs::write(folder.path().join("x.crt"), "half").unwrap();
        assert!(watcher.look().is_none());
        assert_eq!(watcher.look().unwrap().problems.len(), 1);
        assert!(watcher.look().is_none(), "told once");
        put(folder.path(), "two.test");
        // As above: only the problem is a reason to read.
        watcher.seen = sight(&watcher.certificates.source);
        watcher.read = watcher.seen.clone();
        assert_eq!(watcher.look().unwrap().replaced.len(), 1);
    }
}
