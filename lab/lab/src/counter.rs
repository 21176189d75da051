//! The counter of allocations that memory rows preload into workers: built, and where its figures lie.
//!
//! Must not know: what is counted. Next: `count.c`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// What it does, for the C compiler.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/count.c");

/// A counter that can be preloaded.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) library: PathBuf,
    /// Where it keeps its figures: a file for each peer, emptied by each process that begins.
    folder: PathBuf,
}

impl Counter {
    /// Builds it in this folder. An error tells what the compiler said.
    pub(crate) fn build(folder: &Path) -> Result<Self> {
        let library = folder.join("count.so");
        let mut command = Command::new("cc");
        command.args(["-O2", "-fno-builtin", "-shared", "-fPIC", "-o"]).arg(&library).arg(SOURCE);
        let output = command.stdin(Stdio::null()).output().with_context(|| "cc")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
        Ok(Self { library, folder: folder.to_owned() })
    }

    /// Where the figures of this peer lie. Peers may be counted at the same time.
    pub(crate) fn figures_of(&self, peer: &str) -> PathBuf {
        self.folder.join(format!("allocations-{peer}"))
    }
}
