//! Programs by name and by path, and the threads that a run itself works on.
//!
//! Must not know: what they do. Next: `process.rs`, which starts them.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// The program of this name on the search path.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|p| p.is_file())
}

/// The whole path of a program: a bare file name would be searched for on the path.
///
/// # Errors
/// If there is nothing.
pub fn at(file: &Path) -> Result<PathBuf> {
    file.canonicalize().with_context(|| format!("no program at {}", file.display()))
}

/// A runtime with so many threads.
///
/// # Errors
/// If the system has none to give.
pub fn runtime(threads: usize) -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(threads).enable_all().build()?)
}
