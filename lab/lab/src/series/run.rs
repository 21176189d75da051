//! Execution of `lab openssl`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab_scenario::Measurement;
use lab_scenario::protocol::{Reply, Request};
use lab_scenario::series::Job;

use super::report::{NAME, NoFigure, PAGE, REPORT, SCHEMA, SeriesReport, Settings};
use super::{files, page, tables};
use crate::machine::Machine;
use crate::machine::load::Watch;
use crate::material::placement::placement;
use crate::material::temporary_folder::TemporaryFolder;
use crate::report::now;
use crate::run::progress::Steps;
use crate::worker::build::BuildOptions;
use crate::worker::discovery::{self, Worker};
use crate::worker::peers::{Peer, prepare_peers};
use crate::worker::process::{LaunchOptions, WorkerProcess};
use lab_scenario::random::Random;

/// The options of `lab openssl`.
pub(crate) struct SeriesOptions {
    pub(crate) settings: Settings,
    /// Releases such as `3.5`. If empty, all releases.
    pub(crate) versions: Vec<String>,
    pub(crate) resume: bool,
    pub(crate) out: std::path::PathBuf,
    /// The directory of the workers.
    pub(crate) series: std::path::PathBuf,
    pub(crate) builder: BuildOptions,
    pub(crate) launch: LaunchOptions,
}

/// Runs the benchmarks and returns the report.
pub(crate) fn run(options: &SeriesOptions) -> Result<SeriesReport> {
    fs::create_dir_all(&options.out).with_context(|| format!("{}", options.out.display()))?;
    let path = options.out.join(REPORT);
    let workers = discovery::discover(&options.series)?;
    let wanted = wanted(options, &workers);
    let (peers, reports) = prepare_peers(&wanted, &workers, &options.builder, &options.launch)?;
    ensure!(!peers.is_empty(), "no OpenSSL release is available");
    let mut report = SeriesReport {
        schema: SCHEMA,
        started: now(),
        updated: now(),
        settings: options.settings.clone(),
        machine: Machine::describe(),
        releases: reports,
        others: Vec::new(),
        figures: Vec::new(),
    };
    if options.resume && path.exists() {
        report = resume(SeriesReport::read(&path)?, &report)?;
    }
    let scratch = TemporaryFolder::new(&options.out.join("keys"))?;
    let jobs = tables::jobs(options.settings.threads);
    let steps = Steps::new(options.settings.runs * jobs.len());
    for run in 0..options.settings.runs {
        files::make(scratch.path(), options.settings.seed, run)?;
        let watch = Watch::start();
        let this = Run { options, peers: &peers, number: run, files: scratch.path() };
        for (index, job) in jobs.iter().enumerate() {
            steps.begin(&format!("run {}, {}", run + 1, job.id()));
            let step = u64::try_from(run * jobs.len() + index)?;
            let mut random = Random::new(options.settings.seed.wrapping_add(step));
            if this.measure(job, &mut random, &mut report) {
                report.updated = now();
                write(&report, &options.out)?;
            }
            steps.end();
        }
        if report.others.len() == run {
            report.others.push(watch.others());
        }
    }
    steps.finish();
    write(&report, &options.out)?;
    Ok(report)
}

fn wanted(options: &SeriesOptions, workers: &[Worker]) -> Vec<String> {
    if options.versions.is_empty() {
        return workers.iter().map(|worker| worker.name.clone()).collect();
    }
    options.versions.iter().map(|version| format!("{NAME}{version}")).collect()
}

/// One run, in which every release measures each job once.
struct Run<'r> {
    options: &'r SeriesOptions,
    peers: &'r [Peer],
    number: usize,
    /// The folder of this run's keys and certificates.
    files: &'r Path,
}

impl Run<'_> {
    /// Measures a job with every release that has no result for it in this run, in random order.
    /// Returns whether any release was measured.
    fn measure(&self, job: &Job, random: &mut Random, report: &mut SeriesReport) -> bool {
        let mut left: Vec<_> = self
            .peers
            .iter()
            .filter(|peer| match report.figure(&peer.name, job) {
                Some(figure) => figure.lost.is_none() && figure.runs() <= self.number,
                None => true,
            })
            .collect();
        random.shuffle(&mut left);
        for peer in &left {
            let placement =
                placement(self.options.settings.seed, &job.id(), self.number, &peer.name);
            let measured = measure(self.options, peer, job, self.files, placement);
            if let Err(NoFigure::Failed(why)) = &measured {
                eprintln!("{}, {}: {why}", peer.label, job.id());
            }
            report.add(&peer.name, job, measured);
        }
        !left.is_empty()
    }
}

/// Measures a job in a new process.
fn measure(
    options: &SeriesOptions,
    peer: &Peer,
    job: &Job,
    files: &Path,
    placement: u64,
) -> std::result::Result<Measurement, NoFigure> {
    let attempt = || -> Result<std::result::Result<Measurement, NoFigure>> {
        // Multi-threaded jobs use all CPUs.
        let pin = options.launch.pin.filter(|_| job.threads == 1);
        let launch = LaunchOptions { pin, ..options.launch.clone() };
        let mut process = WorkerProcess::start(&peer.program, &launch)?;
        let (row, files, placement) = (Box::new(job.clone()), files.to_owned(), Some(placement));
        let prepare = Request::Prepare { row, files, placement };
        match process.request(&prepare, Duration::ZERO)? {
            Reply::Ready => {}
            Reply::Cannot { why } => return Ok(Err(NoFigure::Unable(why))),
            Reply::Failed { why } => bail!(why),
            other => bail!("unexpected reply: {other:?}"),
        }
        let milliseconds = options.settings.measure_ms;
        let measure = Request::<Job>::Measure { milliseconds };
        match process.request(&measure, Duration::from_millis(milliseconds))? {
            Reply::Measured(measurement) => checked(job, measurement).map(Ok),
            Reply::Failed { why } => bail!(why),
            other => bail!("unexpected reply: {other:?}"),
        }
    };
    attempt().unwrap_or_else(|error| Err(NoFigure::Failed(format!("{error:#}"))))
}

/// Checks that a measurement has a valid value for each side.
fn checked(job: &Job, measurement: Measurement) -> Result<Measurement> {
    for side in job.sides() {
        match measurement.sides.get(*side) {
            Some(time) if time.is_finite() && *time > 0.0 => {}
            other => bail!("invalid value for side {side:?}: {other:?}"),
        }
    }
    Ok(measurement)
}

/// Checks that a report can be continued by this run.
fn resume(old: SeriesReport, new: &SeriesReport) -> Result<SeriesReport> {
    ensure!(
        old.settings == new.settings,
        "cannot resume: the report has other settings; use the same ones or omit --resume"
    );
    ensure!(
        old.releases == new.releases,
        "cannot resume: the report has other releases; use the same ones or omit --resume"
    );
    ensure!(
        old.machine.cpu == new.machine.cpu,
        "cannot resume: the report is from another machine"
    );
    Ok(old)
}

/// Writes the report as JSON and as an HTML page.
fn write(report: &SeriesReport, out: &Path) -> Result<()> {
    report.write(&out.join(REPORT))?;
    let page = out.join(PAGE);
    fs::write(&page, page::render(report)).with_context(|| format!("{}", page.display()))
}
