//! What the system says of a process: memory and open files.
//!
//! Linux only, as `/proc` is. Must not know: which program. Next: `process.rs`.

use std::fs;

use anyhow::{Context, Result};

/// A process at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Vitals {
    /// Resident memory, in KiB.
    pub resident: u64,
    /// Open files.
    pub files: usize,
}

impl Vitals {
    /// Those of the process of this number.
    ///
    /// # Errors
    /// If it has gone.
    pub fn of(process: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|value| value.trim().trim_end_matches(" kB").parse().ok())
            .context("no VmRSS: the process has ended")?;
        let files = fs::read_dir(format!("/proc/{process}/fd"))?.count();
        Ok(Self { resident, files })
    }
}
