//! A folder of a run's own.
//!
//! Must not know: what is put there. Next: `process.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result};

/// A folder that goes with its value, and with all that is in it.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes one whose name begins with `name`.
    ///
    /// # Errors
    /// If there is one of that name already, or none can be made.
    pub fn create(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
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
        // Left behind, it costs a little space and holds no real key.
        let _ = fs::remove_dir_all(&self.0);
    }
}
