//! What `lab openssl` leaves behind: `openssl.json`.
//!
//! Written after each job of each run. Must not know: how it is shown. Next: `tables.rs`, which makes tables of it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use lab_scenario::Measurement;
use lab_scenario::series::Job;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::report::{PeerReport, read_json, write_json};

/// Raised when a field changes its meaning or goes.
pub const SCHEMA: u32 = 2;

/// All runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// When the last figure came.
    pub updated: u64,
    /// How it was asked for.
    pub settings: Settings,
    /// Where it ran.
    pub machine: Machine,
    /// Which releases took part, or could not, oldest first.
    pub releases: Vec<PeerReport>,
    /// For each run that is complete: CPUs that other programs kept busy meanwhile, on average; absent where
    /// that cannot be known.
    pub others: Vec<Option<f64>>,
    /// What was measured.
    pub figures: Vec<Figure>,
}

/// How runs were asked for. They go on under equal settings only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How often everything is measured.
    pub runs: usize,
    /// Milliseconds of one measurement.
    pub measure_ms: u64,
    /// How many threads work at once where several do.
    pub threads: usize,
    /// Of the keys of each run, of places in memory, and of the order of releases.
    pub seed: u64,
    /// The allocator of all workers.
    pub allocator: String,
    /// The CPU that workers were kept on.
    pub pin: Option<u32>,
    /// Cargo's profile for workers.
    pub profile: String,
}

/// What a release took for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which release, as [`PeerReport::name`].
    pub release: String,
    /// The job in a line.
    pub id: String,
    /// What was asked.
    pub job: Job,
    /// For each of [`Job::sides`] nanoseconds for one, run by run.
    pub sides: BTreeMap<String, Vec<f64>>,
    /// The same for parts of it.
    pub parts: BTreeMap<String, Vec<f64>>,
    /// What the worker says it did.
    pub done: BTreeMap<String, String>,
    /// Why there is no more of it.
    pub lost: Option<Lost>,
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// The release has no way to do it.
    Unable(String),
    /// It went wrong.
    Failed(String),
}

impl Figure {
    /// In how many runs it was measured.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.sides.values().map(Vec::len).min().unwrap_or_default()
    }
}

impl SeriesReport {
    /// What a release took for a job.
    #[must_use]
    pub fn figure(&self, release: &str, job: &Job) -> Option<&Figure> {
        self.figures.iter().find(|each| each.release == release && each.job == *job)
    }

    /// Adds what a run measured.
    pub(crate) fn add(
        &mut self,
        release: &str,
        job: &Job,
        measured: std::result::Result<Measurement, Lost>,
    ) {
        let known = |each: &Figure| each.release == release && each.job == *job;
        let place = self.figures.iter().position(known).unwrap_or_else(|| {
            self.figures.push(Figure {
                release: release.to_owned(),
                id: job.id(),
                job: job.clone(),
                sides: BTreeMap::new(),
                parts: BTreeMap::new(),
                done: BTreeMap::new(),
                lost: None,
            });
            self.figures.len() - 1
        });
        let figure = &mut self.figures[place];
        match measured {
            Ok(measurement) => {
                for (side, time) in measurement.sides {
                    figure.sides.entry(side).or_default().push(time);
                }
                for (part, time) in measurement.parts {
                    figure.parts.entry(part).or_default().push(time);
                }
                figure.done = measurement.done;
            }
            Err(lost) => figure.lost = Some(lost),
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// If it cannot be read, or is of another schema.
    pub fn read(path: &Path) -> Result<Self> {
        read_json(path, &[SCHEMA])
    }

    /// Writes it, in one piece or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_json(self, path)
    }
}
