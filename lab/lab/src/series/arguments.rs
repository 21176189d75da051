//! The command line of `lab openssl`.
//!
//! Must not know: how things are done. Next: `mod.rs`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::report::{SeriesReport, Settings};
use super::{Order, REPORT};
use crate::command::Building;
use crate::fit;
use crate::process::{self, Launch};
use crate::run::{allocator, seed};

/// Fewer runs have no standard deviation worth the name.
const FEWEST_RUNS: usize = 3;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Releases: `1.1.1,3.0,3.5`. Changes are against the first that took part.
    #[arg(long, value_delimiter = ',')]
    versions: Vec<String>,
    /// Shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Runs, each with a process of its own for every figure; at least 3.
    #[arg(long, default_value_t = FEWEST_RUNS)]
    runs: usize,
    /// Goes on with the report that an interrupted run left.
    #[arg(long)]
    resume: bool,
    /// The CPU that workers stay on, but for several threads.
    #[arg(long)]
    pin: Option<u32>,
    /// The allocator of all workers, as in `lab run`.
    #[arg(long, default_value = "auto")]
    allocator: String,
    /// Where openssl.json and openssl.html go.
    #[arg(long, default_value = "lab-report")]
    out: PathBuf,
    /// Keys, places in memory and the order of releases follow from it. Default: drawn, and told in the report.
    #[arg(long)]
    seed: Option<u64>,
    /// How many threads work at once where several do. Default: the processors.
    #[arg(long)]
    threads: Option<usize>,
    /// Milliseconds of one measurement.
    #[arg(long)]
    measure_ms: Option<u64>,
    /// Seconds for which a worker may be silent before it is ended.
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// The folder of workers.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../series"))]
    series: PathBuf,
    #[command(flatten)]
    building: Building,
}

impl Arguments {
    pub(crate) fn order(self) -> Result<Order> {
        ensure!(self.runs >= FEWEST_RUNS, "--runs {}: at least {FEWEST_RUNS}", self.runs);
        self.pin.map_or(Ok(()), process::can_pin)?;
        let limit = Duration::try_from_secs_f64(self.time_limit).context("--time-limit")?;
        let (allocator, preload) = allocator(&self.allocator)?;
        let builder = self.building.builder()?;
        let threads = self.threads.unwrap_or_else(fit::cpus);
        ensure!((1..=fit::MAX_THREADS).contains(&threads), "--threads {threads}");
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
        Ok(Order {
            settings,
            versions: self.versions,
            resume: self.resume,
            out: self.out,
            series: self.series,
            builder,
            launch: Launch { preload, pin: self.pin, limit, ..Launch::default() },
        })
    }
}
