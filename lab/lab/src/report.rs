//! What a run leaves behind: `report.json`.
//!
//! Written after each row, in one piece, so that an interrupt keeps what was measured. Must not know: how
//! it is shown. Next: `table.rs`, `compare.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use lab_scenario::{About, Accounting, Distribution, Row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::profile::Profile;
use crate::statistics::{Interval, Verdict};

/// Raised when a field changes its meaning or goes.
pub const SCHEMA: u32 = 7;

/// The schema before, which had the same fields. All rounds of a run shared keys and certificates then.
pub const SHARED_KEYS: u32 = 6;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// When the last row was finished.
    pub updated: u64,
    /// How it was asked for.
    pub settings: Settings,
    /// Where it ran.
    pub machine: Machine,
    /// Who took part.
    pub peers: Vec<PeerReport>,
    /// What was measured, in the order of the table of rows.
    pub rows: Vec<RowReport>,
    /// Rows of which a profile was taken.
    #[serde(default)]
    pub profiles: Vec<Profile>,
}

/// How a run was asked for. A run goes on under equal settings only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `quick`, `standard` or `full`.
    pub mode: String,
    /// How libraries are timed.
    pub accounting: Accounting,
    /// Of keys, of places in memory, of the order of peers, and of resampling.
    pub seed: u64,
    /// The fewest rounds of a row.
    pub rounds: usize,
    /// Milliseconds of one measurement.
    pub measure_ms: u64,
    /// Seconds that a row may take, once it has its rounds.
    pub row_seconds: f64,
    /// Minutes that all rows may take together, if that was asked; then `row_seconds` is what falls to each.
    pub minutes: Option<f64>,
    /// The allocator of all workers.
    pub allocator: String,
    /// The CPU that workers were kept on.
    pub pin: Option<u32>,
    /// Cargo's profile for workers.
    pub profile: String,
    /// Logical processors: the threads of latency rows.
    pub cpus: usize,
    /// Counts of threads.
    pub threads: Vec<usize>,
    /// Counts of connections, for memory.
    pub connections: Vec<usize>,
}

/// Who took part, or could not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerReport {
    /// As it was asked for.
    pub name: String,
    /// For readers.
    pub label: String,
    /// Whether it is no peer but the floor.
    pub floor: bool,
    /// What it said of itself; absent if it could not be built or started.
    pub about: Option<About>,
    /// Why it took no part.
    pub failure: Option<String>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowReport {
    /// What was asked.
    pub row: Row,
    /// The row in a line.
    pub title: String,
    /// Rounds that were made.
    pub rounds: usize,
    /// Seconds that it took.
    pub seconds: f64,
    /// CPUs that other programs kept busy meanwhile, on average; absent where that cannot be known.
    pub others: Option<f64>,
    /// Whether the machine was too busy with other things for the row to be trusted.
    pub noisy: bool,
    /// Both sides, or what else is judged.
    pub sides: Vec<SideReport>,
    /// Peers whose row was lost, and why.
    pub failures: BTreeMap<String, String>,
    /// Peers that have no way to do it, and why.
    pub unable: BTreeMap<String, String>,
    /// Latency rows: for each peer, how the times of `client` and `server` were distributed in all rounds.
    pub distributions: BTreeMap<String, BTreeMap<String, Distribution>>,
    /// What both ends of each peer said they did.
    pub done: BTreeMap<String, BTreeMap<String, String>>,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// One of [`Row::sides`].
    pub side: String,
    /// What each peer took.
    pub peers: Vec<Figure>,
}

/// What a peer took for one side of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which.
    pub peer: String,
    /// Median over the rounds: nanoseconds of one repetition, or what [`Row::unit`] says.
    pub nanoseconds: f64,
    /// Half of the rounds lie between these.
    pub quartiles: [f64; 2],
    /// Each round.
    pub rounds: Vec<f64>,
    /// Median figures that are told but not judged.
    pub parts: BTreeMap<String, f64>,
    /// Speed against the best of the other peers; absent if there is none, and for the floor.
    pub speed: Option<Speed>,
    /// Time in floors; absent without a floor.
    pub floors: Option<Interval>,
}

/// Speed against the best other peer: above 1 is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// The best other.
    pub against: String,
    /// That one's time by this one's.
    #[serde(flatten)]
    pub interval: Interval,
    /// What that means.
    pub verdict: Verdict,
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// If it cannot be read, or is of another schema.
    pub fn read(path: &Path) -> Result<Self> {
        read_json(path, &[SCHEMA])
    }

    /// Reads a report to show it, also one of [`SHARED_KEYS`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_to_show(path: &Path) -> Result<Self> {
        read_json(path, &[SCHEMA, SHARED_KEYS])
    }

    /// Writes it, in one piece or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_json(self, path)
    }

    /// How many rows were disturbed by other programs.
    #[must_use]
    pub fn noisy_rows(&self) -> usize {
        self.rows.iter().filter(|row| row.noisy).count()
    }

    /// What a reader calls this peer.
    #[must_use]
    pub fn label<'r>(&'r self, peer: &'r str) -> &'r str {
        self.peers.iter().find(|each| each.name == peer).map_or(peer, |each| each.label.as_str())
    }
}

/// Reads a file of JSON that says itself of which schema it is, and has to be of one of these.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, expected: &[u32]) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let value: serde_json::Value = serde_json::from_str(&text)?;
    let schema = value.get("schema").and_then(serde_json::Value::as_u64);
    ensure!(
        expected.iter().any(|known| schema == Some((*known).into())),
        "{} has schema {schema:?}, this program reads {expected:?}",
        path.display()
    );
    serde_json::from_value(value).with_context(|| format!("{}", path.display()))
}

/// Writes a file of JSON, in one piece or not at all.
pub(crate) fn write_json(report: &impl Serialize, path: &Path) -> Result<()> {
    let beside = path.with_extension("json.new");
    fs::write(&beside, serde_json::to_vec_pretty(report)?)?;
    fs::rename(&beside, path).with_context(|| format!("{}", path.display()))
}
