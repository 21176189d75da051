//! The format of `report.json`.
//!
//! The file is written atomically after each row, so an interrupted run keeps all finished rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use lab_scenario::{About, Accounting, Distribution, Row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::profile::Profile;
use crate::machine::Machine;
use crate::statistics::{ConfidenceInterval, Verdict};

/// The version of the format. It is raised when a field is removed or changes its meaning.
pub const SCHEMA: u32 = 7;

/// The previous version, with the same fields. In reports of that version, all rounds shared keys
/// and certificates.
pub const SHARED_KEYS: u32 = 6;

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the format, [`SCHEMA`].
    pub schema: u32,
    /// Start time, in seconds since 1970.
    pub started: u64,
    /// Time at which the last row ended.
    pub updated: u64,
    /// The settings.
    pub settings: Settings,
    /// The description of the machine.
    pub machine: Machine,
    /// The peers.
    pub peers: Vec<PeerReport>,
    /// The results, in the order of the table of rows.
    pub rows: Vec<RowReport>,
    /// Instruction profiles of rows.
    #[serde(default)]
    pub profiles: Vec<Profile>,
}

/// The settings of a run. A run can be continued only with equal settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `quick`, `standard` or `full`.
    pub mode: String,
    /// The accounting, which defines what is timed.
    pub accounting: Accounting,
    /// The seed of keys, memory placements, the order of peers, and resampling.
    pub seed: u64,
    /// The minimum number of rounds of a row.
    pub rounds: usize,
    /// Milliseconds of one measurement.
    pub measure_ms: u64,
    /// The time limit of a row in seconds, once it has its minimum number of rounds.
    pub row_seconds: f64,
    /// The time limit of all rows together in minutes, if set. `row_seconds` is then each row's
    /// share.
    pub minutes: Option<f64>,
    /// The allocator of all workers.
    pub allocator: String,
    /// The CPU to which workers were pinned.
    pub pin: Option<u32>,
    /// The Cargo profile of workers.
    pub profile: String,
    /// The number of logical CPUs, which is the thread count of latency rows.
    pub cpus: usize,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// Connection counts of memory rows.
    pub connections: Vec<usize>,
}

/// A peer, whether it took part in the run or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerReport {
    /// The requested name.
    pub name: String,
    /// The name shown in reports.
    pub label: String,
    /// Whether the peer is the floor.
    pub floor: bool,
    /// The worker's description of itself; absent if it could not be built or started.
    pub about: Option<About>,
    /// The reason why the peer did not take part.
    pub failure: Option<String>,
}

/// The results of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowReport {
    /// The row.
    pub row: Row,
    /// The row's title.
    pub title: String,
    /// The number of rounds.
    pub rounds: usize,
    /// The duration in seconds.
    pub seconds: f64,
    /// The average number of CPUs that other programs kept busy during the row; absent if unknown.
    pub others: Option<f64>,
    /// Whether other programs kept the machine too busy for reliable results.
    pub noisy: bool,
    /// The judged sides.
    pub sides: Vec<SideReport>,
    /// Peers that failed, with the reason.
    pub failures: BTreeMap<String, String>,
    /// Peers that do not support the row, with the reason.
    pub unable: BTreeMap<String, String>,
    /// Latency rows: the time distributions of `client` and `server` over all rounds, by peer.
    pub distributions: BTreeMap<String, BTreeMap<String, Distribution>>,
    /// The negotiated parameters that both ends reported, by peer.
    pub done: BTreeMap<String, BTreeMap<String, String>>,
}

/// The results of one side of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// One of [`Row::sides`].
    pub side: String,
    /// The results by peer.
    pub peers: Vec<Figure>,
}

/// The result of a peer for one side of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The peer.
    pub peer: String,
    /// The median over the rounds: nanoseconds of one repetition, or a value in the unit of
    /// [`Row::unit`].
    pub nanoseconds: f64,
    /// The lower and the upper quartile of the rounds.
    pub quartiles: [f64; 2],
    /// The value of each round.
    pub rounds: Vec<f64>,
    /// Medians of values that are reported but not judged.
    pub parts: BTreeMap<String, f64>,
    /// Speed relative to the best of the other peers; absent without other peers and for the floor.
    pub speed: Option<SpeedRatio>,
    /// Time relative to the floor; absent without a floor.
    pub floors: Option<ConfidenceInterval>,
}

/// Speed relative to the best other peer. A value above 1 means faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedRatio {
    /// The best other peer.
    pub against: String,
    /// The other peer's time divided by this peer's time.
    #[serde(flatten)]
    pub interval: ConfidenceInterval,
    /// The verdict on the interval.
    pub verdict: Verdict,
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// If the file cannot be read or has another schema.
    pub fn read(path: &Path) -> Result<Self> {
        read_json(path, &[SCHEMA])
    }

    /// Reads a report for display. A report of version [`SHARED_KEYS`] is also accepted.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn read_to_show(path: &Path) -> Result<Self> {
        read_json(path, &[SCHEMA, SHARED_KEYS])
    }

    /// Writes the report atomically.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_json(self, path)
    }

    /// The number of noisy rows.
    #[must_use]
    pub fn noisy_rows(&self) -> usize {
        self.rows.iter().filter(|row| row.noisy).count()
    }

    /// The label of a peer.
    #[must_use]
    pub fn label<'r>(&'r self, peer: &'r str) -> &'r str {
        self.peers.iter().find(|each| each.name == peer).map_or(peer, |each| each.label.as_str())
    }
}

/// Reads a JSON file whose field `schema` must be one of `expected`.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, expected: &[u32]) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let value: serde_json::Value = serde_json::from_str(&text)?;
    let schema = value.get("schema").and_then(serde_json::Value::as_u64);
    ensure!(
        expected.iter().any(|known| schema == Some((*known).into())),
        "{}: schema {schema:?} is not supported, expected one of {expected:?}",
        path.display()
    );
    serde_json::from_value(value).with_context(|| format!("{}", path.display()))
}

/// Writes a JSON file atomically.
pub(crate) fn write_json(report: &impl Serialize, path: &Path) -> Result<()> {
    let temporary = path.with_extension("json.new");
    fs::write(&temporary, serde_json::to_vec_pretty(report)?)?;
    fs::rename(&temporary, path).with_context(|| format!("{}", path.display()))
}

/// The current time in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
