//! Execution of `lab run` and `lab profile`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;
use lab_scenario::{Accounting, Task};

use crate::instructions;
use crate::machine::Machine;
use crate::material::KeyMaterial;
use crate::material::temporary_folder::TemporaryFolder;
use crate::output::page;
use crate::report::profile::Profile;
use crate::report::{Report, SCHEMA, Settings, now};
use crate::run::counts;
use crate::run::plan::{self, TimePlan};
use crate::run::progress::{Progress, minutes};
use crate::run::rounds::RowBench;
use crate::run::selection::{place, select};
use crate::worker::allocations::AllocationCounter;
use crate::worker::build::BuildOptions;
use crate::worker::discovery;
use crate::worker::peers::prepare_peers;
use crate::worker::process::LaunchOptions;
use lab_scenario::random::Random;

/// The options of `lab run`.
pub(crate) struct RunOptions {
    pub(crate) settings: Settings,
    /// Ids, parts of ids, or sections of rows. If empty, the rows of the mode are used.
    pub(crate) rows: Vec<String>,
    /// Names of workers. If empty, all workers are used.
    pub(crate) peers: Vec<String>,
    pub(crate) resume: bool,
    pub(crate) out: PathBuf,
    pub(crate) workers: PathBuf,
    pub(crate) builder: BuildOptions,
    pub(crate) launch: LaunchOptions,
}

/// Runs the benchmarks and returns the report.
pub(crate) fn run(options: &RunOptions) -> Result<Report> {
    let mut rows =
        select(&options.rows, options.settings.accounting, options.settings.mode == "quick")?;
    counts::apply(&mut rows, &options.settings);
    fs::create_dir_all(&options.out).with_context(|| format!("{}", options.out.display()))?;
    let path = options.out.join("report.json");
    let workers = discovery::discover(&options.workers)?;
    let (peers, reports) =
        prepare_peers(&options.peers, &workers, &options.builder, &options.launch)?;
    let mut report = Report {
        schema: SCHEMA,
        started: now(),
        updated: now(),
        settings: plan::fit_to_minutes(&options.settings, &rows, peers.len()),
        machine: Machine::describe(),
        peers: reports,
        rows: Vec::new(),
        profiles: Vec::new(),
    };
    if options.resume && path.exists() {
        report = resume(Report::read(&path)?, &report)?;
    }
    ensure!(peers.iter().any(|peer| !peer.floor), "no peer is available");
    let certificates = TemporaryFolder::new(&options.out.join("certificates"))?;
    let material =
        KeyMaterial::new(certificates.path(), report.settings.seed, report.settings.rounds);
    let spinner = ProgressBar::new_spinner().with_message("generating keys");
    spinner.enable_steady_tick(Duration::from_millis(200));
    material.make(&rows)?;
    spinner.finish_and_clear();
    let counter = match rows.iter().any(|row| row.task == Task::Memory) {
        true => AllocationCounter::build(certificates.path())
            .inspect_err(|error| eprintln!("cannot build the allocation counter: {error:#}"))
            .ok(),
        false => None,
    };
    let settings = report.settings.clone();
    let plan = TimePlan::new(&rows, &settings, peers.len());
    print_estimate(&plan, &settings);
    let bench = RowBench {
        counter,
        peers: &peers,
        launch: &options.launch,
        settings: &settings,
        material: &material,
    };
    let progress = Progress::new(&rows, &plan);
    for (index, row) in rows.iter().enumerate() {
        if report.rows.iter().any(|done| done.row == *row) {
            progress.skip();
            continue;
        }
        let spent = report.rows.iter().map(|done| done.seconds).sum();
        progress.begin(index, row, spent);
        // Each row has its own random sequence, so that a resumed run draws the same numbers as an
        // uninterrupted run.
        let mut random = Random::new(options.settings.seed.wrapping_add(index as u64));
        let limit = plan.limit(index, spent);
        let progress_of_row = |rounds, since| progress.round(rounds, since);
        let measured = bench.measure(row, limit, &mut random, &progress_of_row)?;
        progress.end(&measured);
        report.rows.push(measured);
        report.rows.sort_by_key(|done| place(&done.row));
        report.updated = now();
        write(&report, &options.out)?;
    }
    progress.finish();
    write(&report, &options.out)?;
    Ok(report)
}

/// Takes profiles of rows and adds them to the report in `out`, which is created if necessary.
pub(crate) fn profile(options: &RunOptions) -> Result<Vec<Profile>> {
    let rows = select(&options.rows, Accounting::Neutral, false)?;
    fs::create_dir_all(&options.out).with_context(|| format!("{}", options.out.display()))?;
    let path = options.out.join("report.json");
    let workers = discovery::discover(&options.workers)?;
    let (peers, reports) =
        prepare_peers(&options.peers, &workers, &options.builder, &options.launch)?;
    let mut report = match path.exists() {
        true => Report::read(&path)?,
        false => Report {
            schema: SCHEMA,
            started: now(),
            updated: now(),
            settings: options.settings.clone(),
            machine: Machine::describe(),
            peers: reports,
            rows: Vec::new(),
            profiles: Vec::new(),
        },
    };
    let certificates = TemporaryFolder::new(&options.out.join("certificates"))?;
    let files =
        KeyMaterial::new(certificates.path(), options.settings.seed, 1).make_shared(&rows)?;
    let mut taken = Vec::new();
    for row in &rows {
        let spinner = ProgressBar::new_spinner().with_message(format!("counting {}", row.id));
        spinner.enable_steady_tick(Duration::from_millis(200));
        let profile = instructions::profile::profile(row, &peers, &options.launch, &files);
        spinner.finish_and_clear();
        let profile = profile?;
        report.profiles.retain(|old| old.row.id != profile.row.id);
        report.profiles.push(profile.clone());
        report.profiles.sort_by_key(|each| place(&each.row));
        write(&report, &options.out)?;
        taken.push(profile);
    }
    Ok(taken)
}

/// Prints the estimated duration, with a warning if it exceeds the requested duration.
fn print_estimate(plan: &TimePlan, settings: &Settings) {
    let least = plan.min_seconds();
    eprintln!("estimated minimum duration: {}", minutes(least));
    if settings.minutes.is_some_and(|asked| 60.0 * asked < least) {
        eprintln!("this exceeds --minutes; select fewer rows or peers");
    }
}

/// Writes the report as JSON and as an HTML page.
fn write(report: &Report, out: &Path) -> Result<()> {
    report.write(&out.join("report.json"))?;
    let page = out.join("report.html");
    fs::write(&page, page::report::render(report)).with_context(|| format!("{}", page.display()))
}

/// Checks that a report can be continued by this run.
fn resume(old: Report, new: &Report) -> Result<Report> {
    ensure!(
        old.settings == new.settings,
        "cannot resume: the report has other settings; use the same ones or omit --resume"
    );
    ensure!(
        old.peers == new.peers,
        "cannot resume: the report has other peers; use the same ones or omit --resume"
    );
    ensure!(
        old.machine.cpu == new.machine.cpu,
        "cannot resume: the report is from another machine"
    );
    Ok(old)
}
