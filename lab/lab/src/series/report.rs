//! The format of `openssl.json`. The file is written after each job of each run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use lab_scenario::Measurement;
use lab_scenario::series::Job;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::report::{PeerReport, read_json, write_json};

/// The version of the format. It is raised when a field is removed or changes its meaning.
pub const SCHEMA: u32 = 2;

/// The name of the report file.
pub(crate) const REPORT: &str = "openssl.json";
/// The name of the page.
pub(crate) const PAGE: &str = "openssl.html";

/// The prefix of worker names.
pub(crate) const NAME: &str = "openssl-";

/// The report of all runs of all jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesReport {
    /// The version of the format, [`SCHEMA`].
    pub schema: u32,
    /// Start time, in seconds since 1970.
    pub started: u64,
    /// Time of the last result.
    pub updated: u64,
    /// The settings.
    pub settings: Settings,
    /// The description of the machine.
    pub machine: Machine,
    /// The releases, oldest first, including those that could not take part.
    pub releases: Vec<PeerReport>,
    /// For each complete run, the average number of CPUs that other programs kept busy; absent if
    /// unknown.
    pub others: Vec<Option<f64>>,
    /// The results.
    pub figures: Vec<Figure>,
}

/// The settings. Runs can be continued only with equal settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The number of runs.
    pub runs: usize,
    /// Milliseconds of one measurement.
    pub measure_ms: u64,
    /// The thread count of multi-threaded jobs.
    pub threads: usize,
    /// The seed of keys, memory placements and the order of releases.
    pub seed: u64,
    /// The allocator of all workers.
    pub allocator: String,
    /// The CPU to which workers were pinned.
    pub pin: Option<u32>,
    /// The Cargo profile of workers.
    pub profile: String,
}

/// The result of a release for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The release, by its [`PeerReport::name`].
    pub release: String,
    /// The job's id.
    pub id: String,
    /// The job.
    pub job: Job,
    /// Nanoseconds per operation for each run, by [`Job::sides`].
    pub sides: BTreeMap<String, Vec<f64>>,
    /// Nanoseconds of parts of the operation for each run.
    pub parts: BTreeMap<String, Vec<f64>>,
    /// The negotiated parameters that the worker reported.
    pub done: BTreeMap<String, String>,
    /// The reason why the release was not measured in further runs.
    pub lost: Option<NoFigure>,
}

/// The reason why there is no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoFigure {
    /// The release does not support the job.
    Unable(String),
    /// The measurement failed.
    Failed(String),
}

impl Figure {
    /// The number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.sides.values().map(Vec::len).min().unwrap_or_default()
    }
}

impl SeriesReport {
    /// The result of a release for a job.
    #[must_use]
    pub fn figure(&self, release: &str, job: &Job) -> Option<&Figure> {
        self.figures.iter().find(|each| each.release == release && each.job == *job)
    }

    /// Adds the result of a run.
    pub(crate) fn add(
        &mut self,
        release: &str,
        job: &Job,
        measured: std::result::Result<Measurement, NoFigure>,
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
    /// If the file cannot be read or has another schema.
    pub fn read(path: &Path) -> Result<Self> {
        read_json(path, &[SCHEMA])
    }

    /// Writes the report atomically.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_json(self, path)
    }
}
