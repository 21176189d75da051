//! A temporary folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::children;

/// A folder that is removed, with its contents, when the value is dropped.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder whose name begins with `name`.
    ///
    /// # Errors
    /// If a folder of that name exists, or the folder cannot be created.
    pub fn create(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        children::create_folder(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        children::remove_folder(&self.0);
    }
}
