//! The command line of `lab openssl`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::building::Building;
use super::seed::seed;
use crate::machine::parallel::cpus;
use crate::run::counts;
use crate::series::report::{REPORT, SeriesReport, Settings};
use crate::series::run::SeriesOptions;
use crate::worker::allocator::allocator;
use crate::worker::process::{self, LaunchOptions};

/// The fewest runs that give a useful standard deviation.
const MIN_RUNS: usize = 3;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Releases to measure, e.g. `1.1.1,3.0,3.5`. The changes of later releases are relative to the
    /// first one.
    #[arg(long, value_delimiter = ',')]
    versions: Vec<String>,
    /// Use shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Number of runs (at least 3). Every run measures each value in a new process.
    #[arg(long, default_value_t = MIN_RUNS)]
    runs: usize,
    /// Continue the report of an interrupted run.
    #[arg(long)]
    resume: bool,
    /// Pin single-threaded workers to this CPU.
    #[arg(long)]
    pin: Option<u32>,
    /// Allocator of all workers, as in `lab run`.
    #[arg(long, default_value = "auto")]
    allocator: String,
    /// Output directory for openssl.json and openssl.html.
    #[arg(long, default_value = "lab-report")]
    out: PathBuf,
    /// Seed of keys, memory placements and the order of releases [default: random; stored in the
    /// report].
    #[arg(long)]
    seed: Option<u64>,
    /// Number of threads in multi-threaded measurements [default: the number of CPUs].
    #[arg(long)]
    threads: Option<usize>,
    /// Length of one measurement in milliseconds.
    #[arg(long)]
    measure_ms: Option<u64>,
    /// Seconds without a reply after which a worker is killed.
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Directory of the workers for OpenSSL releases.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../series"))]
    series: PathBuf,
    #[command(flatten)]
    building: Building,
}

impl Arguments {
    pub(crate) fn options(self) -> Result<SeriesOptions> {
        ensure!(self.runs >= MIN_RUNS, "--runs {}: must be at least {MIN_RUNS}", self.runs);
        self.pin.map_or(Ok(()), process::can_pin)?;
        let limit = Duration::try_from_secs_f64(self.time_limit).context("--time-limit")?;
        let (allocator, preload) = allocator(&self.allocator)?;
        let builder = self.building.builder()?;
        let threads = self.threads.unwrap_or_else(cpus);
        ensure!((1..=counts::MAX_THREADS).contains(&threads), "--threads {threads}");
        let earlier = self.out.join(REPORT);
        let earlier = match self.resume && earlier.exists() {
            true => Some(SeriesReport::read(&earlier)?.settings.seed),
            false => None,
        };
        let settings = Settings {
            runs: self.runs,
            measure_ms: self.measure_ms.unwrap_or(if self.quick { 100 } else { 500 }),
            threads,
            seed: seed(self.seed, earlier),
            allocator,
            pin: self.pin,
            profile: builder.profile.clone(),
        };
        Ok(SeriesOptions {
            settings,
            versions: self.versions,
            resume: self.resume,
            out: self.out,
            series: self.series,
            builder,
            launch: LaunchOptions { preload, pin: self.pin, limit, ..LaunchOptions::default() },
        })
    }
}
