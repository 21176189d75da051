//! A folder of a run's own.
//!
//! Must not know: what is put there. Next: `children.rs`, which sees to it that it goes with the run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::children;

/// A folder that goes with its value, and with all that is in it.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes one whose name begins with `name`.
    ///
    /// # Errors
    /// If there is one of that name already, or none can be made.
    pub fn create(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        children::create_folder(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    /// Where it is.
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
