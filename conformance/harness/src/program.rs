//! Functions that find programs by name or by path, and create a Tokio runtime.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// Finds a program on the search path.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|p| p.is_file())
}

/// The absolute path of a program. A bare file name would be searched for on the search path.
///
/// # Errors
/// If the file does not exist.
pub fn at(file: &Path) -> Result<PathBuf> {
    file.canonicalize().with_context(|| format!("no program at {}", file.display()))
}

/// A Tokio runtime with this number of threads.
///
/// # Errors
/// If the threads cannot be started.
pub fn runtime(threads: usize) -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(threads).enable_all().build()?)
}
