//! A directory that is removed at the end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A temporary directory. It stays if the process is killed.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        // The path must be absolute, because workers have other working directories.
        let path = std::path::absolute(folder)?;
        fs::create_dir_all(&path).with_context(|| format!("{}", path.display()))?;
        Ok(Self(path))
    }
}

impl TemporaryFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
