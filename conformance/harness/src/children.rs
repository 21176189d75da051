//! What ends with a run, also with one that is interrupted: the processes it started, and its folders.
//!
//! A signal that would end this process (SIGHUP, SIGINT, SIGTERM) has it end its children first, whatever they
//! would make of that signal themselves: some drain for a while, and one that was stopped hears nothing.
//! Must not know: what they are. Next: `process.rs` and `folder.rs`, which tell.

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

/// The signals that people, terminals and supervisors end a run with.
pub const ENDING: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// What would stay behind.
#[derive(Default)]
struct Started {
    watched: bool,
    children: Vec<Weak<Mutex<Child>>>,
    folders: Vec<PathBuf>,
}

static STARTED: Mutex<Started> =
    Mutex::new(Started { watched: false, children: Vec::new(), folders: Vec::new() });

/// Starts it, to be ended with this process.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Arc<Mutex<Child>>> {
    // Held until it is known here: who ends all of them must not miss this one.
    let mut started = started()?;
    let child = Arc::new(Mutex::new(command.spawn()?));
    started.children.retain(|child| child.strong_count() > 0);
    started.children.push(Arc::downgrade(&child));
    Ok(child)
}

/// Makes this folder, to go with this process.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut started = started()?;
    fs::create_dir(path)?;
    started.folders.push(path.to_owned());
    Ok(())
}

/// Removes it.
pub(crate) fn remove_folder(path: &Path) {
    lock(&STARTED).folders.retain(|folder| folder != path);
    // Left behind, it costs a little space and holds no real key.
    let _ = fs::remove_dir_all(path);
}

/// Whether this process was started with the signal ignored, as `nohup` does and shells do in the background.
/// Then it stays ignored.
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

/// Nothing is started before signals are heard.
fn started() -> io::Result<MutexGuard<'static, Started>> {
    let mut started = lock(&STARTED);
    if !started.watched {
        watch()?;
        started.watched = true;
    }
    Ok(started)
}

/// Has a thread wait for signals. What is started gets none of this: handlers do not outlive `exec`.
fn watch() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut awaited = Vec::new();
    {
        let _here = runtime.enter();
        for each in ENDING.into_iter().filter(|each| !is_ignored(*each)) {
            awaited.push((each, signal(SignalKind::from_raw(each as i32))?));
        }
    }
    let wait = move || {
        let come = runtime.block_on(poll_fn(|context| {
            let mut all = awaited.iter_mut();
            let come = all
                .find_map(|(each, stream)| stream.poll_recv(context).is_ready().then_some(*each));
            come.map_or(Poll::Pending, Poll::Ready)
        }));
        end(come);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

fn end(come: Signal) -> ! {
    // Never let go, so that nothing is started any more.
    let started = lock(&STARTED);
    let children: Vec<_> = started.children.iter().filter_map(Weak::upgrade).collect();
    for child in &children {
        // Fails only where it has ended already.
        let _ = lock(child).kill();
    }
    for child in &children {
        let _ = lock(child).wait();
    }
    for folder in &started.folders {
        let _ = fs::remove_dir_all(folder);
    }
    // As shells tell of it.
    std::process::exit(128 + come as i32)
}
