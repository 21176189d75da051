//! Watches certificate files, and others, for changes.
//!
//! The watch polls file metadata every few seconds. This works even where there are no change
//! events: on network file systems, Kubernetes volumes and replaced symbolic links. To avoid
//! reading half-written files, it reads the files only if two consecutive polls return the same
//! metadata, and this metadata differs from the metadata at the last read. Every twelfth poll reads
//! the files anyway, for file systems with coarse metadata. If the bytes are unchanged, this has no
//! effect.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Certificates, Changes, Source};

/// The number of polls after which files are read even if their metadata has not changed.
const MAX_POLLS_WITHOUT_RELOAD: u32 = 12;

/// Files that are read again when they change.
pub(crate) trait Watched: Send + Sync + 'static {
    /// The result of a reload that changed something or found a new problem.
    type Changes;

    /// The metadata of all files.
    fn snapshot(&self) -> Snapshot;

    /// Reads all files. Returns `None` if nothing has changed and there is no new problem.
    fn reload(&self) -> Option<Self::Changes>;

    /// Whether the last reload left a problem.
    fn has_problems(&self) -> bool;
}

impl Watched for Certificates {
    type Changes = Changes;

    fn snapshot(&self) -> Snapshot {
        snapshot(&self.source)
    }

    fn reload(&self) -> Option<Changes> {
        let changes = self.reload();
        let reported = !(changes.problems.is_empty()
            && changes.exposed_keys.is_empty()
            && changes.keyless.is_empty());
        (changes.any() || reported).then_some(changes)
    }

    fn has_problems(&self) -> bool {
        self.outstanding() > 0
    }
}

/// A watch thread. Dropping it stops the thread.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Polls every `interval` and calls `changed` with each reload that changed something or found
    /// a new problem.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn start(
        certificates: Arc<Certificates>,
        interval: Duration,
        changed: impl FnMut(&Changes) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_for("certificates", certificates, interval, changed)
    }

    /// As [`Self::start`], for any files. The thread has this name.
    pub(crate) fn start_for<W: Watched>(
        name: &str,
        watched: Arc<W>,
        interval: Duration,
        mut changed: impl FnMut(&W::Changes) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        // The first snapshot is taken before the thread starts, so no later change is missed.
        let mut watcher = Watcher::new(watched);
        let run = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // A file that causes a panic must not end the reloads of the others.
                let poll = AssertUnwindSafe(|| {
                    if let Some(changes) = watcher.poll() {
                        changed(&changes);
                    }
                });
                if catch_unwind(poll).is_err() {
                    tracing::error!("reload of changed files failed; trying again");
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Whether the thread has ended by itself, which is a defect.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic was already logged by the thread itself.
            let _ = thread.join();
        }
    }
}

/// The state of the watch thread: the metadata of the files at the last poll, and at the last read.
struct Watcher<W> {
    watched: Arc<W>,
    read: Snapshot,
    seen: Snapshot,
    polls: u32,
}

/// The metadata of each file.
pub(crate) type Snapshot = BTreeMap<PathBuf, Stamp>;

/// Metadata that changes when a file is changed in place, replaced, or relinked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl<W: Watched> Watcher<W> {
    fn new(watched: Arc<W>) -> Self {
        let seen = watched.snapshot();
        // The first poll reads the files anyway, which detects a change between `load` and now.
        Self { watched, read: seen.clone(), seen, polls: MAX_POLLS_WITHOUT_RELOAD }
    }

    /// Polls once. Returns the changes of a reload, if it changed something or found a new problem.
    fn poll(&mut self) -> Option<W::Changes> {
        let now = self.watched.snapshot();
        let steady = now == self.seen;
        self.seen = now;
        self.polls = self.polls.saturating_add(1);
        // A problem may disappear without a change of metadata: a certificate becomes valid, or a
        // key was read before its certificate was replaced.
        let reason = self.seen != self.read
            || self.polls >= MAX_POLLS_WITHOUT_RELOAD
            || self.watched.has_problems();
        if !(steady && reason) {
            return None;
        }
        let changes = self.watched.reload();
        self.read = self.seen.clone();
        self.polls = 0;
        changes
    }
}

fn snapshot(source: &Source) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for files in &source.files {
        for file in [Some(&files.chain), Some(&files.key), files.ocsp_response.as_ref()] {
            file.into_iter().for_each(|file| record(file, &mut snapshot));
        }
    }
    let folder = source.folder.as_deref();
    folder.into_iter().for_each(|folder| record_folder(folder, true, &mut snapshot));
    snapshot
}

/// Records the files of a folder, and if `deeper` those of its subfolders, as [`super::layout`]
/// reads them.
pub(crate) fn record_folder(folder: &Path, deeper: bool, snapshot: &mut Snapshot) {
    record(folder, snapshot);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        if deeper && fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            record_folder(&path, false, snapshot);
        } else {
            record(&path, snapshot);
        }
    }
}

/// Records a file, following symbolic links. A missing file has no entry, so removal is a change.
fn record(path: &Path, snapshot: &mut Snapshot) {
    if let Ok(metadata) = fs::metadata(path) {
        let stamp = Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        snapshot.insert(path.to_owned(), stamp);
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;
    use crate::testing::Folder;

    fn write(folder: &Path, name: &str) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key);
        fs::write(folder.join("x.crt"), certificate.unwrap().pem()).unwrap();
        fs::write(folder.join("x.key"), key.serialize_pem()).unwrap();
    }

    fn watched(folder: &Folder) -> Watcher<Certificates> {
        write(folder.path(), "one.test");
        let source = Source { folder: Some(folder.path().to_owned()), ..Source::default() };
        let (certificates, _) = Certificates::load(source).unwrap();
        Watcher::new(Arc::new(certificates))
    }

    #[test]
    fn files_are_read_when_two_polls_agree() {
        let folder = Folder::new();
        let mut watcher = watched(&folder);
        assert!(watcher.poll().is_none(), "nothing has changed");
        write(folder.path(), "two.test");
        assert!(watcher.poll().is_none(), "it may be being written");
        fs::write(folder.path().join("x.ocsp"), "more").unwrap();
        assert!(watcher.poll().is_none(), "it is being written");
        assert_eq!(watcher.poll().unwrap().replaced.len(), 1);
        assert!(watcher.poll().is_none());
    }

    /// Files of which the first reload panics.
    struct PanicsOnce(std::sync::atomic::AtomicBool);

    impl Watched for PanicsOnce {
        type Changes = ();

        fn snapshot(&self) -> Snapshot {
            Snapshot::new()
        }

        fn reload(&self) -> Option<()> {
            assert!(self.0.swap(true, std::sync::atomic::Ordering::Relaxed), "on purpose");
            Some(())
        }

        fn has_problems(&self) -> bool {
            true
        }
    }

    #[test]
    fn reload_that_panics_is_repeated() {
        let (sender, receiver) = mpsc::channel();
        let files = Arc::new(PanicsOnce(false.into()));
        let changed = move |(): &()| sender.send(()).unwrap();
        let watch = Watch::start_for("x", files, Duration::from_millis(1), changed).unwrap();
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(!watch.has_ended());
    }

    #[test]
    fn change_without_new_metadata_is_detected_later() {
        let folder = Folder::new();
        let mut watcher = watched(&folder);
        assert!(watcher.poll().is_none());
        write(folder.path(), "two.test");
        // Simulates a file system that did not update the metadata.
        watcher.seen = watcher.watched.snapshot();
        watcher.read = watcher.seen.clone();
        for _ in 1..MAX_POLLS_WITHOUT_RELOAD {
            assert!(watcher.poll().is_none());
        }
        assert_eq!(watcher.poll().unwrap().replaced.len(), 1);
    }

    #[test]
    fn files_with_problems_are_read_until_fixed() {
        let folder = Folder::new();
        let mut watcher = watched(&folder);
        fs::write(folder.path().join("x.crt"), "half").unwrap();
        assert!(watcher.poll().is_none());
        assert_eq!(watcher.poll().unwrap().problems.len(), 1);
        assert!(watcher.poll().is_none(), "reported once");
        write(folder.path(), "two.test");
        // The metadata counts as read, so that only the problem causes a read.
        watcher.seen = watcher.watched.snapshot();
        watcher.read = watcher.seen.clone();
        assert_eq!(watcher.poll().unwrap().replaced.len(), 1);
    }
}
