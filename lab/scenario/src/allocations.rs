//! What the process has asked of its allocator, the C libraries in it included.
//!
//! The controller preloads a counter (`lab/src/count.c`) that keeps its figures in a file both can see.
//! Reading it asks for no memory. Must not know: libraries.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek};

use crate::library::{Result, Unable};

/// Names the counter's file.
const VARIABLE: &str = "LAB_ALLOCATIONS";

/// The counter.
pub(crate) struct Allocations(File);

/// What it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Bytes that are in use.
    pub(crate) bytes: i64,
    /// How often memory was asked for.
    pub(crate) times: i64,
}

impl Allocations {
    /// The counter, if it is there and sees what this program does.
    pub(crate) fn open() -> std::result::Result<Self, Unable> {
        let path = std::env::var_os(VARIABLE)
            .ok_or_else(|| Unable::cannot("allocations are counted on Linux with glibc only"))?;
        let mut counter = Self(File::open(path)?);
        let before = counter.now().map_err(Unable::Failed)?;
        let taken = black_box(Vec::<u8>::with_capacity(1 << 16));
        let after = counter.now().map_err(Unable::Failed)?;
        drop(taken);
        if after.bytes - before.bytes < 1 << 16 || after.times - before.times != 1 {
            return Err(Unable::cannot("its allocations are not seen"));
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

/// Bytes of this process that are in memory.
pub(crate) fn resident() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no line of Rss")?;
    Ok(kib.parse::<f64>()? * 1024.0)
}
