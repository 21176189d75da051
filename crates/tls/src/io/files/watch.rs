//! Watches files for changes.
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
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// The number of polls after which files are read even if their metadata has not changed.
const MAX_POLLS_WITHOUT_RELOAD: u32 = 12;

/// Files that are read again when they change: see [`FileWatch`].
pub trait WatchedFiles: Send + Sync + 'static {
    /// The result of a reload that changed something or found a new problem.
    type Changes;

    /// Returns the metadata of all files.
    fn snapshot(&self) -> FileSnapshot;

    /// Reads all files. Returns `None` if nothing has changed and there is no new problem.
    fn reload(&self) -> Option<Self::Changes>;

    /// Returns whether the last reload left a problem. Then the files are read at each poll.
    fn has_problems(&self) -> bool;

    /// A reload panicked. It is repeated at a later poll. By default, nothing more is done.
    fn reload_panicked(&self) {}

    /// Returns whether the files are still to be watched. By default, they are until the
    /// [`FileWatch`] is dropped.
    fn is_in_use(&self) -> bool {
        true
    }
}

/// The metadata of files at one moment.
///
/// A missing file has no entry, so its removal is a change, and symbolic links are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSnapshot(BTreeMap<PathBuf, Stamp>);

/// Metadata that changes when a file is changed in place, replaced, or relinked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    unix: UnixStamp,
}

#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UnixStamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl FileSnapshot {
    /// Creates an empty snapshot.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn add_file(&mut self, file: &Path) {
        if let Ok(metadata) = fs::metadata(file) {
            self.0.insert(file.to_owned(), Stamp::new(&metadata));
        }
    }

    /// Adds a folder and its files, and if `deeper` those of its subfolders, but not theirs. Names
    /// that begin with a dot are left out.
    pub fn add_folder(&mut self, folder: &Path, deeper: bool) {
        self.add_file(folder);
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if deeper && fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                self.add_folder(&path, false);
            } else {
                self.add_file(&path);
            }
        }
    }
}

impl Stamp {
    fn new(metadata: &fs::Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            unix: UnixStamp::new(metadata),
        }
    }
}

#[cfg(unix)]
impl UnixStamp {
    fn new(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A thread that reads files again when they change. Dropping the value stops the thread.
///
/// ```no_run
/// use std::path::Path;
/// use std::sync::Arc;
/// use std::time::Duration;
/// use tercel::files::{FileSnapshot, FileWatch, WatchedFiles};
///
/// /// A list of names, which the program keeps elsewhere.
/// struct Names;
///
/// impl WatchedFiles for Names {
///     type Changes = Result<String, std::io::Error>;
///
///     fn snapshot(&self) -> FileSnapshot {
///         let mut snapshot = FileSnapshot::new();
///         snapshot.add_file(Path::new("names.txt"));
///         snapshot
///     }
///
///     fn reload(&self) -> Option<Self::Changes> {
///         Some(std::fs::read_to_string("names.txt"))
///     }
///
///     fn has_problems(&self) -> bool {
///         false
///     }
/// }
///
/// fn watch() -> std::io::Result<FileWatch> {
///     let interval = Duration::from_secs(5);
///     FileWatch::start("names", Arc::new(Names), interval, |names| println!("{names:?}"))
/// }
/// ```
#[derive(Debug)]
pub struct FileWatch {
    stop: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl FileWatch {
    /// Polls every `interval` on a thread of this name, and calls `changed` with each reload that
    /// changed something or found a new problem. The metadata at the time of the call is known when
    /// it returns, and the first poll reads the files anyway, so no later change is missed.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start<W: WatchedFiles>(
        name: &str,
        watched: Arc<W>,
        interval: Duration,
        changed: impl FnMut(&W::Changes) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let pause = move || stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout);
        let thread = spawn(name, watched, pause, changed)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Returns whether the thread has ended by itself: the files are not in use any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The message of a panic was already printed by the thread itself.
            let _ = thread.join();
        }
    }
}

/// Starts a thread that watches files as long as they are in use.
pub(super) fn watch_while_in_use<W: WatchedFiles>(
    name: &str,
    watched: Arc<W>,
    interval: Duration,
    changed: impl FnMut(&W::Changes) + Send + 'static,
) -> io::Result<()> {
    let pause = move || {
        thread::sleep(interval);
        true
    };
    spawn(name, watched, pause, changed).map(drop)
}

/// Starts a thread that polls while `pause`, which waits, returns `true`.
fn spawn<W: WatchedFiles>(
    name: &str,
    watched: Arc<W>,
    pause: impl Fn() -> bool + Send + 'static,
    mut changed: impl FnMut(&W::Changes) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    // The first snapshot is taken before the thread starts, so no later change is missed.
    let mut watcher = Watcher::new(watched);
    let run = move || {
        while pause() && watcher.watched.is_in_use() {
            // A file that causes a panic must not end the reloads of the others.
            let poll = AssertUnwindSafe(|| {
                if let Some(changes) = watcher.poll() {
                    changed(&changes);
                }
            });
            if catch_unwind(poll).is_err() {
                watcher.watched.reload_panicked();
            }
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// The state of the watch thread: the metadata of the files at the last poll, and at the last read.
pub(super) struct Watcher<W> {
    pub(super) watched: Arc<W>,
    read: FileSnapshot,
    seen: FileSnapshot,
    polls: u32,
}

impl<W: WatchedFiles> Watcher<W> {
    pub(super) fn new(watched: Arc<W>) -> Self {
        let seen = watched.snapshot();
        // The first poll reads the files anyway, which detects a change between the first read and
        // now.
        Self { watched, read: seen.clone(), seen, polls: MAX_POLLS_WITHOUT_RELOAD }
    }

    /// Polls once. Returns the changes of a reload, if it changed something or found a new problem.
    pub(super) fn poll(&mut self) -> Option<W::Changes> {
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

    /// Simulates a file system that has not updated the metadata: the current one counts as read.
    #[cfg(test)]
    pub(super) fn hide_changes(&mut self) {
        self.seen = self.watched.snapshot();
        self.read = self.seen.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of which the first reload panics.
    struct PanicsOnce(std::sync::atomic::AtomicBool);

    impl WatchedFiles for PanicsOnce {
        type Changes = ();

        fn snapshot(&self) -> FileSnapshot {
            FileSnapshot::new()
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
    fn a_reload_that_panics_is_repeated() {
        let (sender, receiver) = mpsc::channel();
        let files = Arc::new(PanicsOnce(false.into()));
        let changed = move |(): &()| sender.send(()).unwrap();
        let watch = FileWatch::start("x", files, Duration::from_millis(1), changed).unwrap();
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(!watch.has_ended());
    }

    #[test]
    fn a_watch_that_is_dropped_ends() {
        let (sender, receiver) = mpsc::channel::<()>();
        let files = Arc::new(PanicsOnce(true.into()));
        let changed = move |(): &()| sender.send(()).unwrap();
        let watch = FileWatch::start("x", files, Duration::from_millis(1), changed).unwrap();
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(watch);
        assert!(receiver.iter().count() < 1_000_000, "the thread and its sender are gone");
    }
}
