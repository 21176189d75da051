//! Memory use of the process, including C libraries.
//!
//! The controller preloads a counter (`lab/src/worker/allocations.c`) that stores its values in a
//! shared file. Reading the file does not allocate.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek};

use crate::library::{PrepareError, Result};

/// The environment variable with the path of the counter file.
const VARIABLE: &str = "LAB_ALLOCATIONS";

/// The allocation counter.
pub(crate) struct Allocations(File);

/// Values of the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Bytes in use.
    pub(crate) bytes: i64,
    /// The number of allocations.
    pub(crate) times: i64,
}

impl Allocations {
    /// Opens the counter and checks that it counts the allocations of this program.
    pub(crate) fn open() -> std::result::Result<Self, PrepareError> {
        let path = std::env::var_os(VARIABLE).ok_or_else(|| {
            PrepareError::unsupported("allocations can be counted only on Linux with glibc")
        })?;
        let mut counter = Self(File::open(path)?);
        let before = counter.now().map_err(PrepareError::Failed)?;
        let taken = black_box(Vec::<u8>::with_capacity(1 << 16));
        let after = counter.now().map_err(PrepareError::Failed)?;
        drop(taken);
        if after.bytes - before.bytes < 1 << 16 || after.times - before.times != 1 {
            return Err(PrepareError::unsupported("the counter does not see its allocations"));
        }
        Ok(counter)
    }

    pub(crate) fn now(&mut self) -> Result<Count> {
        let mut both = [[0; 8]; 2];
        self.0.rewind()?;
        for each in &mut both {
            self.0.read_exact(each)?;
        }
        let [bytes, times] = both.map(i64::from_ne_bytes);
        Ok(Count { bytes, times })
    }
}

/// Resident memory of this process in bytes.
pub(crate) fn resident() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no Rss line")?;
    Ok(kib.parse::<f64>()? * 1024.0)
}
