//! The command line of `lab run`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use lab_scenario::Accounting;

use super::building::Places;
use super::seed::seed;
use crate::machine::parallel::cpus;
use crate::report::{Report, Settings};
use crate::run::counts;
use crate::run::execution::RunOptions;
use crate::worker::allocator::{allocator, allocators_of_programs};
use crate::worker::process::{self, LaunchOptions};

#[derive(Args)]
pub(super) struct Run {
    /// Short run: one row of each section, a few minutes.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Long run: more and longer rounds, for publication.
    #[arg(long)]
    full: bool,
    /// Rows: ids, parts of ids, or sections [default: all].
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Peers: names of workers [default: all but those on request]. `NAME@2` runs a worker a second
    /// time (A/A test).
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// What is timed: `neutral` treats all libraries alike; `published` times each library like the
    /// program behind its published results.
    #[arg(long, default_value = "neutral", value_parser = accounting)]
    accounting: Accounting,
    /// Continue the report of an interrupted run.
    #[arg(long)]
    resume: bool,
    /// Pin workers to this CPU.
    #[arg(long)]
    pin: Option<u32>,
    /// Allocator of all workers: `auto` (jemalloc or mimalloc if installed), `system`, `jemalloc`,
    /// `mimalloc`, or the path of a library. With published accounting, `auto` gives each library
    /// the allocator of its published program.
    #[arg(long, default_value = "auto")]
    allocator: String,
    /// Thread counts of the rows `threads`, ascending [default: from 1 to 1.5 times the number of
    /// CPUs].
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Connection counts of the rows `memory`, ascending.
    #[arg(long, value_delimiter = ',')]
    connections: Vec<usize>,
    /// Output directory for report.json and report.html.
    #[arg(long, default_value = "lab-report")]
    out: PathBuf,
    /// Seed of keys, memory placements, the order of peers, and resampling [default: random; stored
    /// in the report].
    #[arg(long)]
    seed: Option<u64>,
    /// Minimum number of rounds of a row.
    #[arg(long)]
    rounds: Option<usize>,
    /// Length of one measurement in milliseconds.
    #[arg(long)]
    measure_ms: Option<u64>,
    /// Time limit of a row in seconds. After it the row ends as soon as it has its minimum number
    /// of rounds, even if undecided.
    #[arg(long)]
    row_seconds: Option<f64>,
    /// Time limit of the whole run in minutes, without builds. It determines the length of
    /// measurements; rows share the time that one row does not use.
    #[arg(long, conflicts_with_all = ["row_seconds", "measure_ms"])]
    minutes: Option<f64>,
    /// Seconds without a reply after which a worker is killed.
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    #[command(flatten)]
    places: Places,
}

impl Run {
    pub(super) fn options(self) -> Result<RunOptions> {
        let (mode, rounds, measure_ms, row_seconds) = match (self.quick, self.full) {
            (true, _) => ("quick", 7, 60, 15.0),
            (_, true) => ("full", 15, 200, 150.0),
            _ => ("standard", 11, 100, 45.0),
        };
        let row_seconds = self.row_seconds.unwrap_or(row_seconds);
        ensure!(
            row_seconds.is_finite() && row_seconds >= 0.0,
            "--row-seconds: invalid value {row_seconds}"
        );
        let positive = |minutes: f64| minutes.is_finite() && minutes > 0.0;
        ensure!(self.minutes.is_none_or(positive), "--minutes: invalid value {:?}", self.minutes);
        self.pin.map_or(Ok(()), process::can_pin)?;
        let limit = Duration::try_from_secs_f64(self.time_limit).context("--time-limit")?;
        let published_allocators =
            self.accounting == Accounting::Published && self.allocator == "auto";
        let (allocator, preload) = if published_allocators {
            allocators_of_programs()?
        } else {
            allocator(&self.allocator)?
        };
        let builder = self.places.building.builder()?;
        let cpus = cpus();
        let earlier = self.out.join("report.json");
        let earlier = match self.resume && earlier.exists() {
            true => Some(Report::read(&earlier)?.settings.seed),
            false => None,
        };
        let seed = seed(self.seed, earlier);
        let or =
            |asked: Vec<usize>, usual: Vec<usize>| if asked.is_empty() { usual } else { asked };
        let settings = Settings {
            cpus,
            threads: or(self.threads, counts::threads(cpus)),
            connections: or(self.connections, counts::connections(mode)),
            mode: mode.to_owned(),
            accounting: self.accounting,
            seed,
            rounds: self.rounds.unwrap_or(rounds),
            measure_ms: self.measure_ms.unwrap_or(measure_ms),
            row_seconds,
            minutes: self.minutes,
            allocator,
            pin: self.pin,
            profile: builder.profile.clone(),
        };
        counts::check(&settings)?;
        Ok(RunOptions {
            settings,
            rows: self.rows,
            peers: self.peers,
            resume: self.resume,
            out: self.out,
            workers: self.places.workers,
            builder,
            launch: LaunchOptions {
                preload,
                published_allocators,
                pin: self.pin,
                limit,
                ..LaunchOptions::default()
            },
        })
    }
}

fn accounting(name: &str) -> Result<Accounting, String> {
    let named = Accounting::ALL.into_iter().find(|each| each.name() == name);
    named.ok_or_else(|| {
        format!("expected one of: {}", Accounting::ALL.map(Accounting::name).join(", "))
    })
}
