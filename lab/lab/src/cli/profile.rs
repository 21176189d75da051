//! The command line of `lab profile`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use lab_scenario::Accounting;

use super::building::Places;
use crate::machine::parallel::cpus;
use crate::report::Settings;
use crate::run::counts;
use crate::run::execution::RunOptions;
use crate::worker::allocator::allocator;
use crate::worker::process::LaunchOptions;

#[derive(Args)]
pub(super) struct Profile {
    /// Rows: ids, parts of ids, or sections.
    #[arg(required = true)]
    rows: Vec<String>,
    /// Peers: names of workers [default: all but those on request].
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Also print this many functions of each purpose.
    #[arg(long, default_value_t = 0)]
    pub(super) functions: usize,
    /// Allocator of all workers, as in `lab run`.
    #[arg(long, default_value = "auto")]
    allocator: String,
    /// Output directory. An existing report in it is extended.
    #[arg(long, default_value = "lab-report")]
    out: PathBuf,
    #[command(flatten)]
    places: Places,
}

impl Profile {
    pub(super) fn options(self) -> Result<RunOptions> {
        let (allocator, preload) = allocator(&self.allocator)?;
        let builder = self.places.building.builder()?;
        let cpus = cpus();
        let settings = Settings {
            cpus,
            threads: counts::threads(cpus),
            connections: counts::connections("full"),
            mode: "profile".to_owned(),
            accounting: Accounting::Neutral,
            seed: 0,
            rounds: 0,
            measure_ms: 0,
            row_seconds: 0.0,
            minutes: None,
            allocator,
            pin: None,
            profile: builder.profile.clone(),
        };
        let limit = Duration::from_secs(60);
        Ok(RunOptions {
            settings,
            rows: self.rows,
            peers: self.peers,
            resume: false,
            out: self.out,
            workers: self.places.workers,
            builder,
            launch: LaunchOptions { preload, limit, ..LaunchOptions::default() },
        })
    }
}
