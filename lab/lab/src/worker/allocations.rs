//! The allocation counter that is preloaded into workers for memory rows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The source of the counter.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/worker/allocations.c");

/// The compiled counter.
#[derive(Clone, Debug)]
pub(crate) struct AllocationCounter {
    pub(crate) library: PathBuf,
    /// The directory of the counter files. Each peer has one file, which every new process resets.
    folder: PathBuf,
}

impl AllocationCounter {
    /// Compiles the counter into `folder`. An error contains the compiler's output.
    pub(crate) fn build(folder: &Path) -> Result<Self> {
        let library = folder.join("count.so");
        let mut command = Command::new("cc");
        command.args(["-O2", "-fno-builtin", "-shared", "-fPIC", "-o"]).arg(&library).arg(SOURCE);
        let output = command.stdin(Stdio::null()).output().with_context(|| "cc")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
        Ok(Self { library, folder: folder.to_owned() })
    }

    /// The counter file of a peer. Several peers may be counted at the same time.
    pub(crate) fn counter_file_of(&self, peer: &str) -> PathBuf {
        self.folder.join(format!("allocations-{peer}"))
    }
}
