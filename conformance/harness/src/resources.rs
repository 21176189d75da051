//! Memory and open files of a process, as the system reports them.
//!
//! This works on Linux only, since it reads `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// The resource usage of a process at one time.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// Resident memory in KiB.
    pub resident: u64,
    /// The number of open files.
    pub files: usize,
}

impl Resources {
    /// Reads the usage of the process with this ID.
    ///
    /// # Errors
    /// If the process has ended.
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
