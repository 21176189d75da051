//! Child processes and folders. They are ended or removed at the end of this process, even if it is
//! interrupted.
//!
//! On a signal that ends this process (SIGHUP, SIGINT, SIGTERM), its children are killed first.
//! The signal itself is not enough: some programs drain connections first, and a stopped process
//! does not handle it.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::thread;

use nix::sys::signal::Signal;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// The signals with which users, terminals and supervisors end a program.
pub const TERMINATION_SIGNALS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// The children and folders to remove at the end.
#[derive(Default)]
struct Registry {
    watched: bool,
    children: Vec<Weak<Mutex<Child>>>,
    folders: Vec<PathBuf>,
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { watched: false, children: Vec::new(), folders: Vec::new() });

/// Starts a child that ends with this process.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Arc<Mutex<Child>>> {
    // The registry is locked until the child is registered, so that a signal cannot miss the child.
    let mut registry = registry()?;
    let child = Arc::new(Mutex::new(command.spawn()?));
    registry.children.retain(|child| child.strong_count() > 0);
    registry.children.push(Arc::downgrade(&child));
    Ok(child)
}

/// Creates a folder that is removed with this process.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut registry = registry()?;
    fs::create_dir(path)?;
    registry.folders.push(path.to_owned());
    Ok(())
}

/// Removes a folder.
pub(crate) fn remove_folder(path: &Path) {
    lock(&REGISTRY).folders.retain(|folder| folder != path);
    // A folder that cannot be removed costs a little space and holds no real key.
    let _ = fs::remove_dir_all(path);
}

/// Whether this process was started with the signal ignored, as `nohup` does, and shells do for
/// background processes. If so, the signal stays ignored.
#[must_use]
pub fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    ignored.unwrap_or(0) >> (signal as i32 - 1) & 1 == 1
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The registry; the first call starts the handling of signals.
fn registry() -> io::Result<MutexGuard<'static, Registry>> {
    let mut registry = lock(&REGISTRY);
    if !registry.watched {
        watch()?;
        registry.watched = true;
    }
    Ok(registry)
}

/// Starts a thread that waits for signals. Children do not inherit the handlers through `exec`.
fn watch() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut awaited = Vec::new();
    {
        let _here = runtime.enter();
        for each in TERMINATION_SIGNALS.into_iter().filter(|each| !is_ignored(*each)) {
            awaited.push((each, signal(SignalKind::from_raw(each as i32))?));
        }
    }
    let wait = move || {
        let received = runtime.block_on(poll_fn(|context| {
            let mut all = awaited.iter_mut();
            let received = all
                .find_map(|(each, stream)| stream.poll_recv(context).is_ready().then_some(*each));
            received.map_or(Poll::Pending, Poll::Ready)
        }));
        terminate(received);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

fn terminate(signal: Signal) -> ! {
    // The registry is locked until the exit, so that no other child is started.
    let registry = lock(&REGISTRY);
    let children: Vec<_> = registry.children.iter().filter_map(Weak::upgrade).collect();
    for child in &children {
        // The call fails only if the child has already ended.
        let _ = lock(child).kill();
    }
    for child in &children {
        let _ = lock(child).wait();
    }
    for folder in &registry.folders {
        let _ = fs::remove_dir_all(folder);
    }
    // The exit status that shells report for a signal.
    std::process::exit(128 + signal as i32)
}
